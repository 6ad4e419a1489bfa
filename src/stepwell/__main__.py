"""`python -m stepwell` is the command line."""

from stepwell.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
