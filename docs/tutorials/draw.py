#!/usr/bin/env python3
"""Draws columns of a table that unfold wrote (TSV with a header) as an SVG; needs nothing but Python.

    draw.py scores.tsv --y bits --mean 1000 --title "Bits per base" --label "position" --unit "bits" -o picture.svg
    draw.py forecast.tsv --x ahead --y value.mean --band value.q10 value.q90 -o picture.svg
"""

import argparse
import csv
import html
import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 320, 74, 50, 40, 24
# Follows the reader's choice of light or dark.
STYLE = ("<style>.paper{fill:#fff}text{fill:#1b1f24}.grid{stroke:#d8dee4}.line{stroke:#1f77b4}.band{fill:#1f77b4}"
         "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}"
         ".line{stroke:#58a6ff}.band{fill:#58a6ff}}</style>")


def columns(path, names):
    """Returns the named columns as lists of numbers; without a name for x, the numbers of the rows."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    places = [header.index(name) if name else None for name in names]
    return [list(range(1, len(rows) + 1)) if k is None else [float(row[k]) for row in rows] for k in places]


def means(values, size):
    """Returns the means of consecutive groups of `size` values."""
    return [sum(values[i:i + size]) / len(values[i:i + size]) for i in range(0, len(values), size)]


def ticks(low, high, logarithmic=False):
    """Returns four to nine round numbers between low and high; on a logarithmic axis, powers of ten."""
    if logarithmic:
        return [10.0 ** n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) if low <= 10.0 ** n <= high]
    step = 10.0 ** len(str(int(abs(high - low)))) if high > low else 1.0
    while (high - low) / step < 4:
        step /= 2 if str(step).strip("0.")[0] != "5" else 2.5
    first = int(low / step) - 1
    return [n * step for n in range(first, first + 30) if low <= n * step <= high]


class Frame:
    """Maps numbers to positions in the picture."""

    def __init__(self, x, y, logarithmic):
        self.logarithmic = logarithmic
        self.low_x, self.high_x, self.low_y, self.high_y = min(x), max(x), min(y), max(y)
        if logarithmic:
            self.high_y = 10.0 ** math.ceil(math.log10(self.high_y))

    def x(self, value):
        return LEFT + (value - self.low_x) / ((self.high_x - self.low_x) or 1) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        low, high = self.low_y, self.high_y
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return HEIGHT - BOTTOM - (value - low) / ((high - low) or 1) * (HEIGHT - BOTTOM - TOP)

    def line(self, x, y):
        return " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, y))


def axes(frame, label, unit):
    parts = []
    for value in ticks(frame.low_x, frame.high_x):
        parts.append(f'<text x="{frame.x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:,.12g}</text>')
    for value in ticks(frame.low_y, frame.high_y, frame.logarithmic):
        y = frame.y(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd" class="grid"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:,.12g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{html.escape(label)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{html.escape(unit)}</text>')
    return parts


def picture(x, y, band, title, label, unit, logarithmic=False):
    if logarithmic:
        y, band = [max(value, 1.0) for value in y], [[max(value, 1.0) for value in edge] for edge in band]
    frame = Frame(x, y + (band[0] + band[1] if band else []), logarithmic)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'font-family="sans-serif" font-size="12">{STYLE}',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white" class="paper"/>',
             f'<text x="{LEFT}" y="20" font-size="15">{html.escape(title)}</text>', *axes(frame, label, unit)]
    if band:
        points = frame.line(x, band[0]) + " " + frame.line(x[::-1], band[1][::-1])
        parts.append(f'<polygon points="{points}" fill="#1f77b4" fill-opacity="0.2" class="band"/>')
    parts.append(f'<polyline points="{frame.line(x, y)}" fill="none" stroke="#1f77b4" stroke-width="1.6" class="line"/>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--y", required=True)
    parser.add_argument("--x", default="")
    parser.add_argument("--band", nargs=2, default=[], metavar=("LOW", "HIGH"))
    parser.add_argument("--mean", type=int, default=1, help="draw the mean of N neighbors")
    parser.add_argument("--title", default="")
    parser.add_argument("--label", default="", help="name and unit of the horizontal axis")
    parser.add_argument("--unit", default="", help="name and unit of the vertical axis")
    parser.add_argument("--log", action="store_true", help="logarithmic vertical axis; values below 1 are drawn at 1")
    parser.add_argument("-o", "--out", required=True)
    options = parser.parse_args()
    x, y, *band = columns(options.table, [options.x, options.y, *options.band])
    if options.mean > 1:
        x, y = x[::options.mean], means(y, options.mean)
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(picture(x, y, band, options.title or options.y, options.label or options.x or "row",
                           options.unit or options.y, options.log))


if __name__ == "__main__":
    main()
