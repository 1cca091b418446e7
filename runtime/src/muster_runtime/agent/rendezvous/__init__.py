"""How the nodes of a job find one another and stay in touch."""
