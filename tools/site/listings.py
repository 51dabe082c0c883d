"""Source listings as plain HTML pages with an anchor for every line, `#L42`, in light and dark styles."""

import html
import pathlib

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

LISTED = (".c", ".cpp", ".h", ".py", ".txt")  # files of a folder that have a listing

FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{path} - Unfold</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 0; font: 13px/1.5 ui-monospace, "Liberation Mono", Menlo, monospace; background: #fff; color: #24292f; }}
header {{ padding: .6em 1em; border-bottom: 1px solid #8884; }}
pre {{ margin: 0; padding: .6em 0; }}
pre span[id] {{ display: block; padding: 0 1em; min-height: 1.5em; }}
pre span[id]:target {{ background: #ffe08a66; }}
a {{ color: inherit; text-decoration: none; opacity: .6; }}
{light}
@media (prefers-color-scheme: dark) {{
body {{ background: #1e2129; color: #d5d7e2; }}
{dark}
}}
</style></head><body><header><a href="{home}">Unfold</a> / {path}</header>
<div style="overflow-x:auto">{body}</div></body></html>
"""


class _Lines(HtmlFormatter):
    """Return one block element per line, with line numbers."""

    def wrap(self, source):
        yield 0, '<pre class="highlight">'
        for number, (is_line, text) in enumerate(source, 1):
            if is_line:
                text = f'<span id="L{number}"><a href="#L{number}">{number:>5}  </a>{text.rstrip(chr(10))}</span>'
            yield is_line, text
        yield 0, "</pre>"


def _style(name):
    rules = HtmlFormatter(style=name, cssclass="highlight").get_style_defs(".highlight").split("\n")
    return "\n".join(rule for rule in rules if rule.startswith(".highlight ."))


def listing(path, text, home):
    try:
        lexer = get_lexer_for_filename(path, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    body = highlight(text, lexer, _Lines(cssclass="highlight"))
    return FRAME.format(path=html.escape(path), home=home, light=_style("default"), dark=_style("github-dark"), body=body)


def folder(path, names, home):
    rows = "\n".join(f'<a href="{html.escape(name)}.html">{html.escape(name)}</a>' if pathlib.Path(name).suffix in LISTED
                     else html.escape(name) for name in names)
    return FRAME.format(path=html.escape(path), home=home, light="", dark="", body=f"<pre>{rows}</pre>")
