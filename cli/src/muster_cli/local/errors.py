"""The error that the local cloud tells its user as a sentence."""

from __future__ import annotations


class LocalCloudError(Exception):
    """Something that a person can mend: its text is one sentence, lower case, no final period."""
