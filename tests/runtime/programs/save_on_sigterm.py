"""Saves and ends well when it is asked to; passes on that it got a user signal."""

# ruff: noqa: T201

import signal
import sys
import time


def save(*_):
    print("saved")
    sys.exit(0)


signal.signal(signal.SIGTERM, save)
signal.signal(signal.SIGUSR1, lambda *_: print("got SIGUSR1"))
print("ready")
deadline = time.monotonic() + 600
while time.monotonic() < deadline:
    time.sleep(1)
