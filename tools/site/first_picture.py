#!/usr/bin/env python3
"""Draws the first figure of the README: the learning curve of a network on a text of known entropy, with samples during
training.

    first_picture.py --unfold build/release/bin/unfold -o docs/first.svg
"""

import argparse
import html
import json
import math
import pathlib
import subprocess
import tempfile

STAGES = [10, 30, 60, 2000]  # training steps after which a line is sampled
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 400, 60, 24, 58, 46
HIGH, LOW, LAST = 5.6, 1.2, 2000
STYLE = ("<style>.paper{fill:#fff}.ink{fill:#1b1f24}.faint{fill:#555}.grid{stroke:#e4e4e4}.net{fill:#1f5fa8}.floor{fill:#c0392b}"
         "@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.ink{fill:#e6edf3}.faint{fill:#9aa4ae}.grid{stroke:#30363d}"
         ".net{fill:#58a6ff}.floor{fill:#ff7b72}.line{stroke:#58a6ff}.level{stroke:#ff7b72}}</style>")


def learn(unfold, folder):
    """Return [(steps, bits)], {steps: a sampled line}, and the bits of the source."""
    def run(*arguments):
        return subprocess.run([unfold, *arguments], check=True, capture_output=True, text=True, cwd=folder).stdout

    run("generate", "alphabet", "--size", "260000", "--seed", "1", "-o", "train.txt")
    floor = json.loads(run("generate", "alphabet", "--size", "26000", "--seed", "2", "-o", "valid.txt", "--json"))
    lines = {}
    for steps in STAGES:
        more = ["--resume"] if lines else ["train.txt", "--valid", "valid.txt", "--model", "gru:64", "--optimizer",
                                           "adam:rate=0.006,clip=1", "--validate-every", "10"]
        run("train", *more, "--steps", str(steps), "--quiet", "--out", "run")
        sample = run("sample", "run", "--length", "500", "--temperature", "0.8", "--seed", "4")
        lines[steps] = max(sample.split("\n"), key=lambda line: (line.startswith("ab"), len(line)))[:56]
    events = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines()]
    curve = [(e["step"], e["nats_per_symbol"] / math.log(2)) for e in events if e["event"] == "validation"]
    return curve, lines, floor["source_bits_per_symbol"]


def x(step):
    return LEFT + (math.log10(step) - 1) / (math.log10(LAST) - 1) * (WIDTH - LEFT - RIGHT)


def y(bits):
    return TOP + (HIGH - bits) / (HIGH - LOW) * (HEIGHT - TOP - BOTTOM)


def text(at_x, at_y, words, kind="ink", **more):
    extra = f' class="{kind}"' + "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}"{extra}>{html.escape(words)}</text>'


def picture(curve, lines, floor):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'font-family="sans-serif" font-size="13">{STYLE}<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="white" class="paper"/>',
             text(LEFT, 24, "A network learns abc(0123[RANDOM]456789)def: samples after 10, 30, 60 and 2,000 steps", font_size=15),
             text(LEFT, 44, "bits per symbol of unseen text", kind="faint", fill="#555")]
    for bits in (2, 3, 4, 5):
        parts += [f'<path d="M{LEFT} {y(bits):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4" class="grid"/>',
                  text(LEFT - 8, y(bits) + 4, str(bits), text_anchor="end")]
    for step in (10, 20, 50, 100, 200, 500, 1000, 2000):
        parts.append(text(x(step), HEIGHT - BOTTOM + 20, f"{step:,}", text_anchor="end" if step == LAST else "middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "training steps, logarithmic", text_anchor="middle"))
    parts += [f'<path d="M{LEFT} {y(floor):.1f}H{WIDTH - RIGHT}" stroke="#c0392b" stroke-width="1.6" stroke-dasharray="6 4" class="level"/>',
              text(LEFT + 6, y(floor) + 17, f"the best possible score: {floor:.2f} bits", kind="floor", fill="#c0392b")]
    points = " ".join(f"{x(step):.1f},{y(bits):.1f}" for step, bits in curve)
    parts.append(f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="2.4" stroke-linejoin="round" class="line"/>')
    bits_at = dict(curve)
    for step, line in lines.items():
        at_x, at_y = x(step), y(bits_at[step])
        parts.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="4" fill="#1f5fa8" class="net"/>')
        end = step == LAST
        if end:
            parts.append(f'<path d="M{at_x:.1f} {at_y - 8:.1f}v-46" stroke="#1f5fa8" class="line"/>')
        parts.append(text(at_x + (0 if end else 12), at_y - (60 if end else 2), line, font_family="monospace", font_size=12,
                          text_anchor="end" if end else "start"))
    best = min(bits for _, bits in curve)
    parts.append(text(WIDTH - RIGHT, y(floor) + 17, f"the network: {best:.2f}, {best - floor:.2f} above", kind="net", fill="#1f5fa8", text_anchor="end"))
    return "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("-o", "--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.out.write_text(picture(*learn(options.unfold, pathlib.Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
