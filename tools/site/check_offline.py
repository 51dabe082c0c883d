#!/usr/bin/env python3
"""Finds what a built site would fetch from elsewhere: scripts, styles, fonts, pictures. Links that a reader follows do not count.

    check_offline.py build/site
"""

import pathlib
import re
import sys

FETCHED = re.compile(r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'>\s]+"""
                     r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preconnect|preload|icon))"""
                     r"""[^>]*\bhref=["']?(?:https?:)?//[^"'>\s]+"""
                     r"""|(?:@import\s+|url\()["']?(?:https?:)?//[^"')\s]+""")


def main():
    folder = pathlib.Path(sys.argv[1])
    found = [f"{path}: {match[0][:120]}" for path in sorted(folder.rglob("*")) if path.suffix in (".html", ".css")
             for match in FETCHED.finditer(path.read_text(encoding="utf-8"))]
    for line in found:
        print("fetched from elsewhere: " + line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
