#!/usr/bin/env python3
"""Draws how good each way to choose a configuration is, from the harness's table.

    research/baselines/chart.py                                 # of README.md beside this file, to docs/images/choices.svg
    research/baselines/chart.py --results table.md --out a.svg  # of what harness.py printed

Each way has a line from the 5th percentile to the geometric mean of its problems. The chart is legible at 360 pixels, and in
a page that is dark: it brings its own ground. Needs Python alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Beginning of the method's name, what it learned from, how the chart calls it.
WAYS = [
    ("best single configuration", "representative", "The best single configuration"),
    ("nearest tuned M", "representative", "Tuned at powers of two, the nearest of them"),
    ("nvMatmulHeuristics, first", "nothing", "nvMatmulHeuristics, its first suggestion"),
    ("gradient-boosted trees", "planned samples", "Boosted trees, from WaveTune's samples"),
    ("nvMatmulHeuristics, best of 8", "at the problem", "nvMatmulHeuristics, best of eight, measured"),
    ("WaveTune", "planned samples", "WaveTune"),
]
WIDTH, LEFT, RIGHT, TOP, ROW = 480, 16, 464, 78, 46
LEAST = 30  # Percent at the left end.

STYLE = """
  text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; } .small { font-size: 12.5px; fill: #59636e; } .ours { font-weight: 600; }
  .ground { fill: #ffffff; } .grid { stroke: #d1d9e0; } .line { stroke: #818b98; stroke-width: 5; stroke-linecap: round; }
  .dot { fill: #59636e; } .line.ours { stroke: #2f6fd0; } .dot.ours { fill: #1f5fc0; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; } .small { fill: #9198a1; } .ground { fill: #0d1117; } .grid { stroke: #3d444d; }
    .line { stroke: #656c76; } .dot { fill: #9198a1; } .line.ours { stroke: #388bfd; } .dot.ours { fill: #58a6ff; }
  }
"""


def ways(table: str) -> list[tuple[str, float, float]]:
    """Returns [(name, mean, 5th percentile)], in percent, of the first table of the harness in the text."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table[table.index("| method | learned from |") :].split("\n\n")[0].split("\n")
    ]
    found = []
    for beginning, learned_from, name in WAYS:
        figures = [
            (float(row[2].split()[0]), float(row[3].split()[0]))
            for row in rows
            if row[0].startswith(beginning) and row[1] == learned_from
        ]
        if not figures:
            raise SystemExit(f"no method {beginning!r} that learned from {learned_from!r}: run the harness with all of them")
        found.append((name, *max(figures)))
    return found


def place(percent: float) -> float:
    return LEFT + (percent - LEAST) / (100 - LEAST) * (RIGHT - LEFT)


def svg(rows: list[tuple[str, float, float]], about: str) -> str:
    height = TOP + ROW * len(rows) + 46
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 7 // 6}" height="{height * 7 // 6}" role="img">',
        "<title>"
        + "; ".join(f"{name}: mean {mean:.1f} %, 5th percentile {least:.1f} %" for name, mean, least in rows)
        + "</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="{LEFT}" y="28">How fast the choice is, of the fastest there is</text>',
        f'<text class="small" x="{LEFT}" y="48">from the 5th percentile to the mean (dot); further right is faster</text>',
    ]
    bottom = TOP + ROW * len(rows)
    for percent in range(40, 101, 20):
        x = f"{place(percent):.1f}"
        lines.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP - 14}" y2="{bottom - 6}"/>')
        anchor = "end" if percent == 100 else "middle"
        lines.append(f'<text class="small" x="{x}" y="{bottom + 12}" text-anchor="{anchor}">{percent} %</text>')
    for index, (name, mean, least) in enumerate(rows):
        ours = " ours" if name == "WaveTune" else ""
        y = TOP + ROW * index
        lines += [
            f'<text class="{ours.strip()}" x="{LEFT}" y="{y + 6}">{name}</text>',
            f'<text class="{ours.strip()}" x="{RIGHT}" y="{y + 6}" text-anchor="end">{mean:.1f} %</text>',
            f'<line class="line{ours}" x1="{place(least):.1f}" x2="{place(mean):.1f}" y1="{y + 22}" y2="{y + 22}"/>',
            f'<circle class="dot{ours}" cx="{place(mean):.1f}" cy="{y + 22}" r="7"/>',
        ]
    lines.append(f'<text class="small" x="{LEFT}" y="{height - 12}">{about}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "README.md")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "docs/images/choices.svg")
    parser.add_argument("--about", default="94 problems of a bf16 GEMM, 233 configurations each, on an H200")
    arguments = parser.parse_args()
    arguments.out.write_text(svg(ways(arguments.results.read_text()), arguments.about))


if __name__ == "__main__":
    main()
