"""Show a progress bar that never ends its line, in one rank; say whole lines in the other."""

import os
import sys
import time

bar = os.environ["RANK"] == "0"
deadline = time.monotonic() + 600
step = 0
while time.monotonic() < deadline:
    step += 1
    sys.stdout.write(f"\rstep {step}" if bar else f"whole line {step}\n")
    sys.stdout.flush()
    time.sleep(0.05)
