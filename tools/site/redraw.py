#!/usr/bin/env python3
"""Redraws a line plot of the command for a page: in other units, or with the best curves in color and the others in gray.

    redraw.py curves.svg --nats --title "Validation loss" -o learning.svg
    redraw.py curves.svg --best 4 --title "Four methods learn distant XOR" -o distant-xor-curves.svg

The points come from the paths of the picture, and the scales from its ticks. The result cannot be redrawn again.
"""

import argparse
import html
import math
import pathlib
import re

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 420, 76, 250, 46, 56
COLORS = (("#1f77b4", "#58a6ff"), ("#d62728", "#ff7b72"), ("#2ca02c", "#3fb950"), ("#9467bd", "#bc8cff"), ("#e07b00", "#f0a050"))
STYLE = ("<style>.paper{fill:#fff}.ink{fill:#1b1f24}.grid{stroke:#d8dee4}.other{stroke:#b8bec4}.note{fill:#57606a}"
         + "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.grid{stroke:#30363d}.other{stroke:#57606a}"
         + ".note{fill:#9aa4ae}" + "".join(f'[stroke="{a}"]{{stroke:{b}}}[fill="{a}"]{{fill:{b}}}' for a, b in COLORS) + "}</style>")
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Axis:
    """Coordinates of a picture to values, or values to coordinates."""

    def __init__(self, ticks, logarithmic):
        (self.at, low), (end, high) = ticks[0], ticks[-1]
        self.logarithmic = logarithmic
        self.low = self.scale(low)
        self.step = (self.scale(high) - self.low) / (end - self.at)

    def scale(self, value):
        return math.log10(value) if self.logarithmic else value

    def value(self, at):
        value = self.low + (at - self.at) * self.step
        return 10.0 ** value if self.logarithmic else value

    def place(self, value):
        return self.at + (self.scale(value) - self.low) / self.step


def attributes(tag):
    return dict(re.findall(r'([\w-]+)="([^"]*)"', tag))


def points(path):
    return [tuple(map(float, pair.split())) for pair in re.split("[MLZ]", path) if pair.strip()]


def read(svg):
    """Return (label of x, label of y, [(label, line, band)]) of a plot with one or more panels."""
    curves, titles = [], ("", "")
    for panel in re.split(r"(?=<svg [^>]*font-family)", svg)[1:]:
        texts = [(attributes(tag), html.unescape(text)) for tag, text in re.findall(r"<text ([^>]*)>([^<]*)</text>", panel)]
        across = [(float(a["x"]), float(t)) for a, t in texts if a.get("y") == "386.0"]
        up = [(float(a["y"]) - 4, float(t)) for a, t in texts if a.get("text-anchor") == "end"]
        titles = tuple(next(t for a, t in texts if test(a)) for test in (
            lambda a: a.get("y") == "408.0", lambda a: "rotate" in a.get("transform", "")))
        x, y = (Axis(ticks, title.endswith(", logarithmic")) for ticks, title in zip((across, up), titles))
        names = {a["fill"]: t for a, t in texts if "fill" in a}
        paths = [attributes(tag) for tag in re.findall(r"<path ([^>]*)/>", panel)]
        bands = {p["fill"]: p["d"] for p in paths if "fill-opacity" in p}
        for path in paths:
            if path.get("class") == "series":
                line, band = ([(x.value(a), y.value(b)) for a, b in points(d)] for d in (path["d"], bands[path["stroke"]]))
                curves.append((names[path["stroke"]], line, band))
    return *titles, curves


def ticks(low, high, logarithmic):
    if not logarithmic:
        step = 10.0 ** math.floor(math.log10((high - low) / 4))
        step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 7)
        return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if high > 300 * low else (1, 2, 3, 5) if high < 12 * low else (1, 2, 5)
    return [f * 10.0 ** p for p in powers for f in factors if low * 0.999 <= f * 10.0 ** p <= high * 1.001]


def number(value, logarithmic):
    power = round(math.log10(value)) if logarithmic and value > 0 else 0
    return f"10{str(power).translate(SUPERSCRIPT)}" if abs(power) > 3 else f"{value:,.4g}"


def text(x, y, words, anchor="start", more='class="ink"'):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{html.escape(words)}</text>'


def path(x, y, line):
    return "M" + "L".join(f"{x.place(a):.1f} {y.place(b):.1f}" for a, b in line)


def picture(across, up, curves, best, title):
    logarithmic = [name.endswith(", logarithmic") for name in (across, up)]
    every = [point for _, line, band in curves for point in line + band if point[1] > 0 or not logarithmic[1]]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    low, high = min(b for _, b in every), max(b for _, b in every)
    x = Axis([(LEFT, min(a for a, _ in every)), (right, max(a for a, _ in every))], logarithmic[0])
    y = Axis([(bottom, low), (TOP, high)], logarithmic[1])
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'font-family="sans-serif" font-size="12">{STYLE}<rect width="{WIDTH}" height="{HEIGHT}" fill="white" class="paper"/>',
             text(LEFT, 24, title, more='font-size="15" class="ink"')]
    for value in ticks(x.value(LEFT), x.value(right), logarithmic[0]):
        parts += [f'<path d="M{x.place(value):.1f} {TOP}V{bottom}" stroke="#ddd" class="grid"/>',
                  text(x.place(value), bottom + 18, number(value, False), "middle")]
    for value in ticks(low, high, logarithmic[1]):
        parts += [f'<path d="M{LEFT} {y.place(value):.1f}H{right}" stroke="#ddd" class="grid"/>',
                  text(LEFT - 8, y.place(value) + 4, number(value, logarithmic[1]), "end")]
    middle = (TOP + bottom) / 2
    parts += [text((LEFT + right) / 2, HEIGHT - 12, across, "middle"),
              text(18, middle, up, "middle", f'class="ink" transform="rotate(-90 18 {middle})"')]
    ranked = sorted(curves, key=lambda curve: curve[1][-1][1])
    for _, line, _ in ranked[best:]:
        parts.append(f'<path d="{path(x, y, line)}" fill="none" stroke="#b8bec4" stroke-width="1.2" class="other"/>'
                     if len(line) > 1 else f'<circle cx="{x.place(line[0][0]):.1f}" cy="{y.place(line[0][1]):.1f}" r="2.5" fill="#b8bec4"/>')
    labels = []
    for (name, line, band), (color, _) in zip(ranked[:best], COLORS):
        parts += [f'<path d="{path(x, y, band)}Z" fill="{color}" fill-opacity="0.15"/>',
                  f'<path d="{path(x, y, line)}" fill="none" stroke="{color}" stroke-width="2" stroke-linejoin="round" class="series"/>']
        labels.append((y.place(line[-1][1]), name, color))
    if ranked[best:]:
        labels.append((min(y.place(line[-1][1]) for _, line, _ in ranked[best:]), f"{len(ranked) - best} other methods", ""))
    last = -math.inf
    for at, name, color in sorted(labels):
        last = max(at, last + 16)
        parts.append(text(right + 10, last + 4, name, more=f'fill="{color}"' if color else 'class="note"'))
    return "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("--best", type=int, default=len(COLORS), help="the number of curves in color: those that end lowest")
    parser.add_argument("--nats", action="store_true", help="convert bits to nats")
    parser.add_argument("--name", help="name of the only curve")
    parser.add_argument("--title", required=True)
    parser.add_argument("-o", "--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    across, up, curves = read(options.picture.read_text(encoding="utf-8"))
    if options.nats:
        up = up.replace("bits", "nats")
        curves = [(name, *([(a, b * math.log(2)) for a, b in line] for line in both)) for name, *both in curves]
    if options.name:
        curves = [(options.name, *curves[0][1:])]
    options.out.write_text(picture(across, up, curves, options.best, options.title), encoding="utf-8")


if __name__ == "__main__":
    main()
