#!/usr/bin/env python3
"""Plots the total size over the time of all files in a table of compression.sh: frontier.py TABLE.md OUT.svg

A program is on the Pareto frontier if no other is both smaller and faster. Programs without results for all files are
omitted.
"""
import html
import math
import sys

WIDTH, HEIGHT, LEFT, BOTTOM, MARGIN = 760, 480, 90, 60, 30
LEAST_SECONDS = 0.01  # used for times shown as 0.00 in the table
DARK = ('<style>@media (prefers-color-scheme:dark){rect{fill:#0d1117}text{fill:#e6edf3}text[stroke]{stroke:#0d1117}'
        'path[stroke="#ddd"],path[stroke="#eee"]{stroke:#30363d}[fill="#c0392b"]{fill:#ff7b72}'
        '[fill="#2c3e50"]{fill:#a5b4c4}}</style>')


def totals(lines):
    """{program: (seconds, bytes)} of the programs that have all files."""
    sums, files = {}, {}
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 6 or not cells[2].replace(",", "").isdigit():
            continue
        file, program, size, _, seconds, _ = cells
        had = sums.get(program, (0.0, 0))
        sums[program] = (had[0] + float(seconds), had[1] + int(size.replace(",", "")))
        files.setdefault(program, set()).add(file)
    most = max((len(of) for of in files.values()), default=0)
    return {p: (max(s, LEAST_SECONDS), b) for p, (s, b) in sums.items() if len(files[p]) == most}


def frontier(points):
    best, found = math.inf, []
    for program, (seconds, size) in sorted(points.items(), key=lambda item: item[1]):
        if size < best:
            best = size
            found.append(program)
    return found


def free_place(x, y, width, taken):
    """A position for a label of this width near a point that does not overlap existing elements."""
    tries = [(x + 7, y + 4, "start", x + 7), (x - 7, y + 4, "end", x - 7 - width),
             (x, y - 9, "middle", x - width / 2), (x, y + 17, "middle", x - width / 2),
             (x + 4, y - 9, "start", x + 4), (x - 4, y + 17, "end", x - 4 - width)]
    boxes = [(left, height - 10, left + width, height + 3) for _, height, _, left in tries]
    free = [not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in taken) for a in boxes]
    best = free.index(True) if True in free else 0
    return (*tries[best][:3], boxes[best])


def picture(points):
    seconds = [math.log10(s) for s, _ in points.values()]
    sizes = [math.log10(b) for _, b in points.values()]
    low, high = math.floor(min(seconds)), math.ceil(max(seconds))
    small, large = min(sizes) - 0.01, max(sizes) + 0.01

    def x(s):
        return LEFT + (math.log10(s) - low) / max(high - low, 1) * (WIDTH - LEFT - 170)

    def y(b):
        return MARGIN + (large - math.log10(b)) / (large - small) * (HEIGHT - BOTTOM - MARGIN)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="11">',
           DARK, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for power in range(low, high + 1):
        at = x(10**power)
        out.append(f'<path d="M{at:.1f} {MARGIN}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        out.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{10.0**power:g}</text>')
    for step in range(5):
        size = 10 ** (small + (large - small) * step / 4)
        out.append(f'<path d="M{LEFT} {y(size):.1f}H{WIDTH - 170}" stroke="#eee"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y(size) + 4:.1f}" text-anchor="end">{size:,.0f}</text>')
    out.append(f'<text x="{LEFT}" y="{HEIGHT - 16}">seconds, compressing all files, logarithmic</text>')
    out.append(f'<text x="{LEFT - 80}" y="16">bytes, logarithmic</text>')
    edge = frontier(points)
    out.append('<path d="' + "".join(("M" if i == 0 else "L") + f"{x(points[p][0]):.1f} {y(points[p][1]):.1f}"
                                     for i, p in enumerate(edge)) + '" fill="none" stroke="#888" stroke-dasharray="4 3"/>')
    taken = [(x(s) - 5, y(b) - 5, x(s) + 5, y(b) + 5) for s, b in points.values()]
    for program, (s, b) in sorted(points.items(), key=lambda item: item[1]):
        ours = program.startswith("unfold")
        colour, label = ("#c0392b", program.removeprefix("unfold compress ")) if ours else ("#2c3e50", program)
        out.append(f'<circle cx="{x(s):.1f}" cy="{y(b):.1f}" r="4" fill="{colour}"/>')
        at, height, anchor, box = free_place(x(s), y(b), 6.5 * len(label), taken)
        taken.append(box)
        out.append(f'<text x="{at:.1f}" y="{height:.1f}" text-anchor="{anchor}" fill="{colour}" stroke="white" '
                   f'stroke-width="3" paint-order="stroke">{html.escape(label)}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as table:
        points = totals(table)
    if not points:
        sys.exit(f"{sys.argv[1]}: no table of compression.sh")
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(picture(points))
    print("on the frontier:", ", ".join(frontier(points)))


if __name__ == "__main__":
    main()
