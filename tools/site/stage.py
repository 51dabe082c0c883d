#!/usr/bin/env python3
"""Prepares the source of the documentation site in build/site-pages.

    stage.py --unfold build/release/bin/unfold --out build/site-pages

- README.md becomes the first page, docs/ the other pages; SECURITY.md and similar files go to project/.
- A link to a source file points to a listing of the file; `file.cpp#name` points to the line that defines the name.
  After a line that begins with "Code:", the definition itself is inserted. An undefined name is an error.
- A link to the folder include/unfold or python/unfold points to its reference.
- reference/ is generated from the help of the command, the docstrings of the Python package and the public headers.
- Pictures that follow the light or dark setting of the system get one copy for each color scheme of the site.
- Notebooks are converted to pages.
- Mathematics is rendered by KaTeX, from the packages libjs-katex and fonts-katex.
"""

import argparse
import itertools
import os
import pathlib
import re
import shutil
import sys

import headers
import listings
import notebooks
import pictures
import python_reference
import reference
from symbols import find_symbol

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = ["SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
REFERENCES = {"include/unfold": "reference/cpp.md", "python/unfold": "reference/python.md"}  # folders, and pages made from them
LONGEST = 50  # maximum number of lines of an excerpt
KATEX = pathlib.Path("/usr/share/javascript/katex")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")


class SiteError(Exception):
    """Raised when a page cannot be processed; the message says which page, where, and what to do."""


def place_of(path):
    """Return the path of a repository file on the site, or None for a source file."""
    if path == "README.md":
        return "index.md"
    if path in PROJECT:
        return "project/" + path
    if path in REFERENCES:
        return REFERENCES[path]
    if path.startswith("docs/"):
        return path[len("docs/"):].replace(".ipynb", ".md")
    return None


class Site:
    def __init__(self, out):
        self.out = out
        self.sources = set()

    def write(self, place, text):
        path = self.out / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def page(self, source, text):
        """Write the page of the repository file `source`."""
        place = place_of(source)
        front = "---\nhide: [navigation]\n---\n\n" if place == "index.md" else ""
        self.write(place, front + by_parts(text, lambda part: lists(self.links(part, source, place)), columns))

    def links(self, text, source, place):
        text = re.sub(r"^Code: (.*(?:\n[^\n]+)*)", lambda m: m[0] + self.excerpts(m[1], source), text, flags=re.M)
        return pictures.in_both_schemes(LINK.sub(lambda m: m[1] + self.target(m[2], source, place) + m[3], text))

    def resolve(self, link, source):
        """Return the path in the repository, and the name after #."""
        path, _, name = link.partition("#")
        return os.path.normpath(os.path.join(os.path.dirname(source), path)) if path else source, name

    def target(self, link, source, place):
        if re.match(r"[a-z]+:|#", link):
            return link
        path, name = self.resolve(link, source)
        here = os.path.dirname(place)
        to = place_of(path)
        if to is not None:
            return os.path.relpath(to, here) + ("#" + name if name else "")
        file = ROOT / path
        if not file.exists():
            raise SiteError(f"{source} links to {path}, which does not exist")
        if file.is_dir() or file.suffix in (".ipynb",):
            return os.path.relpath("source/" + path + "/index.html", here) if self.list_folder(path) else link
        self.sources.add(path)
        line = ""
        if name:
            line = f"#L{self.lines_of(path, name, source)[0]}"
        return os.path.relpath(f"source/{path}.html", here) + line

    def lines_of(self, path, name, source):
        found = find_symbol((ROOT / path).read_text(encoding="utf-8"), name)
        if found is None:
            raise SiteError(f"{source} links to '{name}' in {path}, which does not define it")
        return found

    def list_folder(self, path):
        files = sorted(p.name for p in (ROOT / path).iterdir())
        self.sources.update(f"{path}/{name}" for name in files if pathlib.Path(name).suffix in listings.LISTED)
        self.write(f"source/{path}/index.html", listings.folder(path, files, "../" * (path.count("/") + 2) + "index.html"))
        return True

    def excerpts(self, links, source):
        """Return collapsed code blocks with the definitions of all names in a line of links."""
        result = ""
        for _, link, _ in LINK.findall(links):
            path, name = self.resolve(link, source)
            if name and place_of(path) is None:
                first, last = self.lines_of(path, name, source)
                code = (ROOT / path).read_text(encoding="utf-8").split("\n")[first - 1:last]
                if len(code) > LONGEST:
                    code = [*code[:LONGEST], "", f"// ... {len(code) - LONGEST} lines more"]
                body = "\n".join("    " + line if line else "" for line in ["```cpp", *code, "```"])
                result += f'\n\n??? code "{path}, {name}"\n\n{body}'
        return result + "\n"

    def listing_of_sources(self):
        for path in sorted(self.sources):
            home = "../" * (path.count("/") + 1) + "index.html"
            self.write(f"source/{path}.html", listings.listing(path, (ROOT / path).read_text(encoding="utf-8"), home))


def by_parts(text, change, change_block):
    """Apply `change_block` to the fenced blocks of a page and `change` to the text between them.

    An empty line follows every block because Python-Markdown would put the next line into the same paragraph.
    """
    parts = re.split(r"(^```.*?^```[ \t]*$)", text, flags=re.M | re.S)
    parts[2::2] = [re.sub(r"^\n(?=[^\n])", "\n\n", part) for part in parts[2::2]]
    return "".join(change_block(part) if part.startswith("```") else change(part) for part in parts)


def columns(block):
    """Align lines with tabs as columns. Python-Markdown replaces tabs with spaces line by line."""
    result = []
    for tabbed, lines in itertools.groupby(block.split("\n"), lambda line: "\t" in line):
        if not tabbed:
            result += lines
            continue
        rows = [line.split("\t") for line in lines]
        widths = [max(map(len, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
        result += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(result)


ITEM = re.compile(r"(\s*)([-*]|\d+\.)\s+\S")


def lists(text):
    """Adapt lists to Python-Markdown, which needs a preceding empty line and four spaces per level."""
    result, inside = [], False
    for line in text.split("\n"):
        item = ITEM.match(line)
        if item:
            if not inside and result and result[-1].strip():
                result.append("")
            inside = True
        elif not line.strip() or not line.startswith(" "):
            inside = inside and bool(line.strip())
        if inside and line.startswith("  ") and not line.startswith("    "):
            line = "    " + line.lstrip(" ")
        result.append(line)
    return "\n".join(result)


def copy_katex(out):
    if not KATEX.exists():
        raise SiteError("KaTeX is missing: tools/setup.sh site, or apt-get install libjs-katex fonts-katex")
    to = out / "assets/katex"
    to.mkdir(parents=True)
    for name in ("katex.min.js", "katex.min.css", "contrib/auto-render.js"):
        shutil.copyfile(KATEX / name, to / pathlib.Path(name).name)
    shutil.copytree(KATEX / "fonts", to / "fonts", ignore=lambda _, names: [n for n in names if not n.endswith("woff2")])


def lay_out(out, unfold):
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    site = Site(out)
    pages = ["README.md", *PROJECT, *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md")))]
    for page in pages:
        site.page(page, (ROOT / page).read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix == ".ipynb":
            site.page(str(path.relative_to(ROOT)), notebooks.page(path))
        if path.is_file() and path.suffix != ".md":
            to = out / path.relative_to(ROOT / "docs")
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".svg":
                pictures.copy(path, to)
            else:
                shutil.copyfile(path, to)
    cpp = headers.reference(ROOT / "include", lambda path: site.target("../" + path, "docs/x", "reference/cpp.md"), reference.with_code)
    for place, text in {**reference.verbs(unfold), **python_reference.python(ROOT / "python/unfold"), **cpp}.items():
        site.write(place, text)
    copy_katex(out)
    site.listing_of_sources()
    return len(pages), len(site.sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    try:
        pages, sources = lay_out(options.out, options.unfold)
    except SiteError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    print(f"site: {pages} pages, {sources} linked sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
