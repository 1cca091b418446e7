"""Prints its environment, sorted, as JSON."""

import json
import os

print("environment " + json.dumps(dict(sorted(os.environ.items()))))
