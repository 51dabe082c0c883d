"""``python -m unfold``, and the script ``unfold`` that a wheel installs: the command as part of the package."""

import os
import sys

from . import _core


def main() -> int:
    """Run the command with the arguments of this program."""
    return _core.run_command([b"unfold", *map(os.fsencode, sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
