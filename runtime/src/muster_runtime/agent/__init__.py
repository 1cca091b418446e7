"""What happens on a node, one module per phase."""
