"""CloudFormation: a resource is made, or the stack has failed and says why."""
