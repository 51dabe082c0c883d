"""Pictures in both color schemes. An SVG follows the system setting (`@media (prefers-color-scheme:dark)`), but the
scheme of the site can be chosen with a button. Each picture therefore has a copy for each scheme, and the theme shows
one of them."""

import re

MEDIA = re.compile(r"@media\s*\(prefers-color-scheme:\s*dark\)\s*\{")
IMAGE = re.compile(r"!\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)\.svg\)")
PAPER = "#0d1117"  # the dark background of pictures; the background of the site differs


def fixed(svg, dark):
    """Return the picture with the styles of one scheme, which no longer depend on the system."""
    found = MEDIA.search(svg)
    while found:
        depth, end = 1, found.end()
        while depth:
            depth += (svg[end] == "{") - (svg[end] == "}")
            end += 1
        svg = svg[:found.start()] + (svg[found.end():end - 1] if dark else "") + svg[end:]
        found = MEDIA.search(svg)
    return re.sub(rf"\b(fill|stroke):{PAPER}", r"\1:none", svg) if dark else svg


def copy(path, to):
    svg = path.read_text(encoding="utf-8")
    to.write_text(fixed(svg, False), encoding="utf-8")
    to.with_name(to.stem + "-dark.svg").write_text(fixed(svg, True), encoding="utf-8")


def in_both_schemes(text):
    """Return Markdown that shows each picture in the scheme of the site."""
    return IMAGE.sub(r"![\1](\2.svg#only-light)![\1](\2-dark.svg#only-dark)", text)
