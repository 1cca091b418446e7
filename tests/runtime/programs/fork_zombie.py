"""Leaves a daemon in a session of its own behind, and one that ended at once."""

# ruff: noqa: T201

import os
import time

for seconds in (600, 0):
    if os.fork() == 0:
        os.setsid()
        daemon = os.fork()
        if daemon == 0:
            time.sleep(seconds)
        else:
            print("daemon", daemon, seconds)
        os._exit(0)
    os.wait()
print("gone")
