#!/usr/bin/env python3
"""Finds resources that a built site would load from other hosts: scripts, styles, fonts and images. Ordinary links are
allowed.

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
        print("loaded from another host: " + line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
