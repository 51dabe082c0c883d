#!/usr/bin/env python3
"""Writes the small files that the how-to guides and other pages use, so that their commands run unchanged.

    example_data.py build/example-data
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/pages"))

import page_data  # noqa: E402


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    names = [*page_data.TEXTS, *page_data.FILES, *page_data.PACKED, *page_data.FOLDERS]
    for name in names:
        page_data.provide(name, folder, "docs/howto/files.md", None)
    print(f"{len(names)} files in {folder}")


if __name__ == "__main__":
    main()
