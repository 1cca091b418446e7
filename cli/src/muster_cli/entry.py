"""The program ``muster``: Ctrl-C ends it quietly, also while its modules are still being loaded.

Everything else is imported under the guard.
"""

EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


def main() -> int:
    """Run the command line.

    Returns:
        130 where it was interrupted; else it leaves by ``SystemExit``.
    """
    try:
        from muster_cli.main import main as muster  # noqa: PLC0415  takes a tenth of a second

        muster()
    except KeyboardInterrupt:
        pass
    return EXIT_INTERRUPTED
