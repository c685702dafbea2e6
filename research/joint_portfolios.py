#!/usr/bin/env python3
"""What launches that share a configuration lose where only candidates that both portfolios have can win (decision record 0039).

    research/joint_portfolios.py            # a minute

Every pair of a wide layer (n >= k) and a narrow one (n < k) of the recorded H200 GEMM, with the nearest token counts, is a layer of
two launches with one configuration. Portfolios are chosen greedily on every second token count, as fit/models/portfolio.cc does
but on what was measured; the other counts judge. Prints best sum over chosen sum: geometric mean and worst, in per cent.
"""

import collections
import csv
import gzip
import math
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "h200_triton_gemm" / "exhaustive.csv.gz"
LEAST_GAIN = 1e-4


def read():
    """Returns latencies in microseconds, [(m, n, k)][configuration]."""
    latencies = collections.defaultdict(dict)
    with gzip.open(DATA, "rt") as lines:
        for row in csv.DictReader(lines):
            latencies[int(row["M"]), int(row["N"]), int(row["K"])][row["config"]] = float(row["latency_us"])
    return latencies


def pairs_of(latencies):
    """Yields lists of two problems each, one list for a pair of layers."""
    tokens = collections.defaultdict(list)
    for m, n, k in sorted(latencies):
        tokens[n, k].append(m)
    for wide in (layer for layer in tokens if layer[0] >= layer[1]):
        for narrow in (layer for layer in tokens if layer[0] < layer[1]):
            yield [
                ((m, *wide), (min(tokens[narrow], key=lambda other: abs(math.log(other / m))), *narrow))
                for m in tokens[wide]
            ]


def portfolio(latencies, problems, size):
    best = {problem: min(latencies[problem].values()) for problem in problems}
    regret = dict.fromkeys(problems, 1.0)
    chosen = []

    def with_one_more(candidate):
        return {p: min(regret[p], latencies[p][candidate] / best[p] - 1) for p in problems}

    candidates = sorted(latencies[problems[0]], key=int)
    while len(chosen) < size:
        candidate = min(candidates, key=lambda c: sum(with_one_more(c).values()))
        after = with_one_more(candidate)
        if chosen and sum(after.values()) > sum(regret.values()) - LEAST_GAIN * len(problems):
            break
        chosen.append(candidate)
        regret = after
    return chosen


def judge(latencies, judged, candidates):
    logs = []
    for first, second in judged:
        sums = {c: latencies[first][c] + latencies[second][c] for c in latencies[first]}
        logs.append(math.log(min(sums.values()) / min(sums[c] for c in candidates)))
    return 100 * math.exp(sum(logs) / len(logs)), 100 * math.exp(min(logs))


def main():
    latencies = read()
    pairs = list(pairs_of(latencies))
    chosen_on = [problem for layer in pairs for problem in layer[::2]]
    judged = [problem for layer in pairs for problem in layer[1::2]]
    print(f"{len(judged)} pairs judge")
    for size in (4, 8, 16):
        first, second = (set(portfolio(latencies, sorted({pair[side] for pair in chosen_on}), size)) for side in (0, 1))
        for name, candidates in (("in common", first & second), ("of either", first | second)):
            mean, worst = judge(latencies, judged, candidates)
            print(f"size {size:2}, {len(candidates):2} {name}: {mean:.2f} %, worst {worst:.1f} %")


if __name__ == "__main__":
    main()
