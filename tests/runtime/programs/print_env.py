"""Prints its environment, sorted, as JSON."""

# ruff: noqa: T201

import json
import os

print("environment " + json.dumps(dict(sorted(os.environ.items()))))
