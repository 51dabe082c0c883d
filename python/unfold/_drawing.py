"""Drawings of circuits as SVG."""

from __future__ import annotations

import html
import json
from typing import Any

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 132, 40, 28, 34
_COLORS = {"input": "#dbeafe", "symbols": "#dbeafe", "link": "#fef3c7", "affine": "#dcfce7", "mask": "#f3f4f6"}
_MOST = 200  # nodes that are drawn; larger circuits are listed


def _reads(node: dict[str, Any]) -> list[int]:
    """Return the nodes that a node reads at the same position."""
    found = list(node.get("of", []))
    for term in node.get("terms", []):
        found += [term[key] for key in ("source", "gate", "keys", "values") if key in term]
        found += term.get("symbols", [])
    return found


def _title(node: dict[str, Any]) -> tuple[str, str]:
    kind = node["kind"]
    if kind == "link":
        steps = node.get("steps", 1)
        return f"{node['along']}{f' {steps}' if steps != 1 else ''}", f"link [{node['size']}]"
    if kind == "map":
        constant = f" {node['constant']:g}" if "constant" in node else ""
        return f"{node['map']}{constant}", ""
    if kind == "slice":
        return f"[{node['offset']}:{node['offset'] + node['size']}]", ""
    if kind == "mask":
        return f"dropout {node['rate']:g}", ""
    parameters = ", ".join(term["name"] for term in node.get("terms", []))
    return node.get("name", kind), f"{kind} [{node['size']}]{' ' + parameters if parameters else ''}"


def svg(circuit_json: str) -> str:
    """Draw a circuit: every node below those that it reads; dashed lines are links to other positions.

    Examples
    --------
    >>> import unfold
    >>> c = unfold.Circuit()
    >>> h = c.link(2)
    >>> y = c.affine("z", 2, {"W": c.input("x", 3), "U": h}).tanh()
    >>> c.feed(h, y)
    >>> svg(c.to_json()).count("<rect")
    4
    """
    circuit = json.loads(circuit_json)
    nodes, outputs = circuit["nodes"], set(circuit["outputs"])
    if len(nodes) > _MOST:
        return f"<p>A circuit of {len(nodes)} nodes.</p>"
    level: list[int] = []
    for node in nodes:
        level.append(1 + max((level[i] for i in _reads(node) if i < len(level)), default=-1))
    columns: dict[int, int] = {}
    places = []
    for depth in level:
        column = columns.get(depth, 0)
        columns[depth] = column + 1
        places.append((10 + column * (_WIDTH + _GAP_X), 10 + depth * (_HEIGHT + _GAP_Y)))
    width = 20 + max(columns.values(), default=1) * (_WIDTH + _GAP_X)
    height = 20 + (1 + max(level, default=0)) * (_HEIGHT + _GAP_Y)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             f'font-size="12">']

    def line(begin: int, end: int, dashed: bool) -> str:
        (x0, y0), (x1, y1) = places[begin], places[end]
        style = ' stroke-dasharray="4 3"' if dashed else ""
        return (f'<line x1="{x0 + _WIDTH // 2}" y1="{y0 + _HEIGHT}" x2="{x1 + _WIDTH // 2}" y2="{y1}" '
                f'stroke="#6b7280"{style}/>')

    for i, node in enumerate(nodes):
        parts += [line(j, i, False) for j in _reads(node)]
        if node["kind"] == "link":
            parts.append(line(node["source"], i, True))
    for i, node in enumerate(nodes):
        x, y = places[i]
        name, detail = _title(node)
        border = "#111827" if i in outputs else "#9ca3af"
        parts.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
                     f'fill="{_COLORS.get(node["kind"], "#ffffff")}" stroke="{border}"/>')
        for text, offset in ((name, 17), (detail, 32)):
            shown = text if len(text) <= 20 else text[:19] + "\u2026"
            parts.append(f'<text x="{x + 6}" y="{y + offset}">{html.escape(shown)}</text>')
    return "".join(parts) + "</svg>"
