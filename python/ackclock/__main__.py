"""The command `ackclock`, also as `python -m ackclock`."""

import sys


def main() -> None:
    """Runs the command line; Ctrl-C while it is imported is one line, too."""
    try:
        from ackclock.cli import main as run

        run()
    except KeyboardInterrupt:
        print("ackclock: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
