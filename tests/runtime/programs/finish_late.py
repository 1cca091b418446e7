"""Every rank but rank 0 ends when a file appears."""

# ruff: noqa: T201, PTH110

import os
import sys
import time

print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])
deadline = time.monotonic() + 600
while os.environ["RANK"] != "0" and not os.path.exists(sys.argv[1]) and time.monotonic() < deadline:
    time.sleep(0.01)
