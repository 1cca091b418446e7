"""Runs until it is killed; tells its process id, and of a child that would outlive it."""

# ruff: noqa: T201

import os
import subprocess
import sys
import time

child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("pids", os.getpid(), child.pid)
time.sleep(600)
