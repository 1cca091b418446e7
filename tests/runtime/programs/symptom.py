"""Rank 0 dies of its peer before the peer, which is the cause, has ended."""

# ruff: noqa: T201

import os
import sys
import time

if os.environ["RANK"] == "0":
    print("RuntimeError: Connection closed by peer [10.0.0.2]:1234")
    sys.exit(1)
time.sleep(0.3)
print("ValueError: the cause")
sys.exit(9)
