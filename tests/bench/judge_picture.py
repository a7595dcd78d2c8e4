#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Owns the picture of the judges' promotion curves: as text for a terminal and as SVG.

Must not know how the curves came about: lines of "judge, ratio, share" in, pictures out."""

import sys

NAMES = {
    "kpcp": ("k", "kpcp's gate", "#0b6e4f", ""),
    "mann-whitney": ("m", "Mann-Whitney (98%, .25)", "#c03221", "7 4"),
    "pooled": ("p", "pooled events (5%)", "#3d5a98", "2 4"),
    "threshold": ("t", "p99 above 1.10 times the controls'", "#b07d12", "10 3 2 3"),
}
MARGIN = 1.10


def read(path):
    curves = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            judge, ratio, share = line.split("\t")
            curves.setdefault(judge, []).append((float(ratio), float(share)))
    return curves


def terminal(curves):
    """One column block a ratio, one row for each tenth; judges on one spot share it."""
    ratios = [x for x, _ in next(iter(curves.values()))]
    rows = []
    for tenth in range(10, -1, -1):
        row = ""
        for i, ratio in enumerate(ratios):
            marks = "".join(NAMES[j][0] for j in curves if round(curves[j][i][1] * 10) == tenth)
            row += marks.center(5) if marks else ("  :  " if abs(ratio - MARGIN) < 1e-9 else "     ")
        rows.append(f"  {tenth / 10:.1f} |{row}".rstrip())
    rows.append("      +" + "-" * (5 * len(ratios)))
    rows.append("       " + "".join(f"{x:.2f}".center(5) if i % 2 == 0 else "     " for i, x in enumerate(ratios)).rstrip())
    rows.append("       share promoted over the true ratio; 1.10, the margin, is dotted")
    rows.extend(f"       {NAMES[j][0]}  {NAMES[j][1]}" for j in curves)
    return "\n".join(rows)


def svg(curves):
    left, top, width, height = 60, 50, 560, 320
    ratios = [x for x, _ in next(iter(curves.values()))]
    low, high = ratios[0], ratios[-1]

    def at(x, y):
        return left + (x - low) / (high - low) * width, top + (1 - y) * height

    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 500" font-family="sans-serif" font-size="13" role="img">',
        "<title>Share of campaigns promoted, by the true ratio</title>",
        '<rect width="640" height="500" fill="#fff"/>',
        f'<text x="{left}" y="24" font-size="16">Share of campaigns promoted, by the true ratio (8/8/4, boots 7%)</text>',
    ]
    for tenth in range(0, 11, 2):
        x, y = at(low, tenth / 10)
        out.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + width:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>')
    for ratio in ratios[::2]:
        x, y = at(ratio, 0)
        out.append(f'<text x="{x:.1f}" y="{y + 20:.1f}" text-anchor="middle">{ratio:.2f}</text>')
    for ratio, words in ((1.0, "no change"), (MARGIN, "margin")):
        x, y = at(ratio, 1)
        out.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{y + height:.1f}" stroke="#888" stroke-dasharray="3 3"/>')
        out.append(f'<text x="{x + 4:.1f}" y="{y - 4:.1f}" fill="#555">{words}</text>')
    for n, (judge, curve) in enumerate(curves.items()):
        _, name, colour, dash = NAMES[judge]
        points = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in curve)
        stroke = f'fill="none" stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"'
        out.append(f'<polyline points="{points}" {stroke}/>')
        x, y = left + (n % 2) * 290, 430 + (n // 2) * 26
        out.append(f'<line x1="{x}" y1="{y}" x2="{x + 40}" y2="{y}" {stroke}/>')
        out.append(f'<text x="{x + 48}" y="{y + 4}">{name}</text>')
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    if len(sys.argv) != 3:
        sys.exit("judge_picture.py CURVES PICTURE.svg")
    curves = read(sys.argv[1])
    print(terminal(curves))
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(svg(curves))


if __name__ == "__main__":
    main()
