"""AWS CDK constructs for multi-node GPU training on AWS Batch."""

__version__ = "0.1.0"
