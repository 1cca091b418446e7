"""The local cloud: moto's server with its gaps filled, and the multi-node executor."""
