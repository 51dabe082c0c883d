#!/usr/bin/env python3
"""Plots the total size versus the total time of all files in a table of compression.sh: frontier.py TABLE.md OUT.svg

The table has one row per file and program, or, as in docs/compression.md, one row per program with the sums. A program
is on the Pareto frontier if no other program is both smaller and faster. Programs without results for all files are
omitted.
"""
import html
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM, TOP = 760, 480, 70, 24, 56, 64
STEP = 100_000  # bytes between the ticks of the sizes
LEAST_SECONDS = 0.01  # used for times shown as 0.00 in the table
DARK = ('<style>@media (prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}text[stroke]{stroke:#0d1117}'
        'path[stroke="#ddd"],path[stroke="#eee"]{stroke:#30363d}[fill="#c0392b"]{fill:#ff7b72}'
        '[fill="#2c3e50"]{fill:#a5b4c4}}</style>')


def totals(lines):
    """{program: (seconds, bytes)} of the programs that have all files."""
    sums, files, inside = {}, {}, False
    for line in lines:
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        inside = line.startswith("|") and (inside or "program" in cells)
        if not inside:
            continue
        if len(cells) == 7 and cells[1].replace(",", "").isdigit() and cells[2].replace(".", "").isdigit():
            sums[cells[0]], files[cells[0]] = (float(cells[2]), int(cells[1].replace(",", ""))), {"all"}
            continue
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
    low, high = math.floor(min(seconds)), math.ceil(max(seconds))
    small = min(b for _, b in points.values()) // STEP * STEP
    large = -(-max(b for _, b in points.values()) // STEP) * STEP

    def x(s):
        return LEFT + (math.log10(s) - low) / max(high - low, 1) * (WIDTH - LEFT - RIGHT)

    def y(b):
        return TOP + (large - b) / max(large - small, 1) * (HEIGHT - BOTTOM - TOP)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">', DARK, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white" class="paper"/>',
           f'<text x="{LEFT}" y="24" font-size="15">Smaller archives take more time</text>',
           f'<text x="{LEFT}" y="44"><tspan fill="#c0392b">unfold compress</tspan> and other programs; '
           'dashed: no other is smaller and faster</text>']
    for power in range(low, high + 1):
        at = x(10**power)
        out.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        out.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10.0**power:g}</text>')
    for size in range(small, large + 1, STEP):
        out.append(f'<path d="M{LEFT} {y(size):.1f}H{WIDTH - RIGHT}" stroke="#eee"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(size) + 4:.1f}" text-anchor="end">{size / 1e6:.1f}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">CPU seconds, logarithmic</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">size of all archives, '
               'million bytes</text>')
    edge = frontier(points)
    out.append('<path d="' + "".join(("M" if i == 0 else "L") + f"{x(points[p][0]):.1f} {y(points[p][1]):.1f}"
                                     for i, p in enumerate(edge)) + '" fill="none" stroke="#888" stroke-dasharray="4 3"/>')
    taken = [(x(s) - 5, y(b) - 5, x(s) + 5, y(b) + 5) for s, b in points.values()]
    for one, next_one in zip(edge, edge[1:]):  # labels keep off the dashed line
        (s, b), (t, c) = points[one], points[next_one]
        for i in range(41):
            at, height = x(s) + (x(t) - x(s)) * i / 40, y(b) + (y(c) - y(b)) * i / 40
            taken.append((at - 1, height - 1, at + 1, height + 1))
    for program, (s, b) in sorted(points.items(), key=lambda item: item[1]):
        ours = program.startswith("unfold")
        color, label = ("#c0392b", program.removeprefix("unfold compress ")) if ours else ("#2c3e50", program)
        out.append(f'<circle cx="{x(s):.1f}" cy="{y(b):.1f}" r="4" fill="{color}"/>')
        at, height, anchor, box = free_place(x(s), y(b), 6.5 * len(label), taken)
        taken.append(box)
        out.append(f'<text x="{at:.1f}" y="{height:.1f}" text-anchor="{anchor}" fill="{color}" stroke="white" '
                   f'stroke-width="3" paint-order="stroke">{html.escape(label)}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as table:
        points = totals(table)
    if not points:
        sys.exit(f"{sys.argv[1]} contains no table written by compression.sh")
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(picture(points))
    print("on the frontier:", ", ".join(frontier(points)))


if __name__ == "__main__":
    main()
