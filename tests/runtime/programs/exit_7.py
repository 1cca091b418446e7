"""The rank named by the first argument exits with 7, once the file of the second is there; the others run on."""

# ruff: noqa: T201, PTH110

import os
import sys
import time

print("rank", os.environ["RANK"], "runs")
deadline = time.monotonic() + 600
while os.environ["RANK"] != sys.argv[1] or not os.path.exists(sys.argv[2]):
    if time.monotonic() > deadline:
        sys.exit(1)
    time.sleep(0.005)
print("ValueError: the last words of the culprit")
sys.exit(7)
