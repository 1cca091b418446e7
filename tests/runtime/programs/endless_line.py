"""Writes megabytes without an end of line, then bytes that are no text, then ends well."""

import os

for _ in range(64):
    os.write(1, b"x" * 65536)
os.write(2, b"\xff\xfe\n" * 10_000)
