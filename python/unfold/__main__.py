"""``python -m unfold``: the command ``unfold``, if it is installed."""

import os
import shutil
import sys


def main() -> int:
    """Run the command with the arguments of this program."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "unfold")
    command = os.environ.get("UNFOLD_COMMAND") or (beside if os.path.exists(beside) else shutil.which("unfold"))
    if command is None or os.path.realpath(command) == os.path.realpath(sys.argv[0]):
        print("python -m unfold: the command unfold is not installed; set UNFOLD_COMMAND to its path, or use the "
              "functions of the package (help(unfold))", file=sys.stderr)
        return 1
    os.execv(command, ["unfold", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
