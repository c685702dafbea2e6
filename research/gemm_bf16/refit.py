#!/usr/bin/env python3
"""Fits recorded profiles again, disturbed, and judges the choices.

    python3 refit.py ../../build/release/bin/wavetune [E F G H I] [--draws 8] [--portfolio 96]

A profile's samples come from profiles/NAME/samples.csv.gz; they are judged by what the same GPU measured of every
candidate, profiles/NAME/judged.csv.gz. The first draw is the profile as it is; every other one lacks a random 8 % of the
samples, and the rest has 0.6 % of noise. One draw says little: which candidate is predicted too low by luck differs from
draw to draw, so changes to the fit are compared by the mean, the standard deviation and the worst of all draws.

Printed of the shapes of gemm.csv (unseen n, k) and known.csv: best / chosen latency in per cent, geometric means.
"""
import argparse
import csv
import gzip
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TRACE = HERE.parent.parent / "tests" / "data" / "h200" / "gemm_bf16"
NOISE = 0.006  # Standard deviation of the logarithm.
DROPPED = 0.08
COLUMNS = "candidate,m,n,k,latency_us"


def read(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def problem(row):
    return row["m"], row["n"], row["k"]


def write_trace(folder, samples, judged, rng):
    """Writes a trace (docs/traces.md) whose anchors are the samples, disturbed unless rng is None."""
    for name in ("manifest.textproto", "device.textproto", "candidates.csv"):
        (folder / name).write_bytes((TRACE / name).read_bytes())
    apart = {problem(row) for row in judged}
    with gzip.open(folder / "anchors.csv.gz", "wt") as file:
        file.write(COLUMNS + ",latency_us_min,relative_spread,suspect\n")
        for row in samples:
            if problem(row) in apart or (rng and rng.random() < DROPPED):
                continue
            factor = math.exp(rng.gauss(0, NOISE)) if rng else 1
            latencies = float(row["latency_us"]) * factor, float(row["latency_us_min"]) * factor
            file.write("%s,%s,%s,%s,%.6g,%.6g,%s,%s\n" % (
                row["candidate"], *problem(row), *latencies, row["relative_spread"], row["suspect"]))
    with gzip.open(folder / "exhaustive.csv.gz", "wt") as file:
        file.write(COLUMNS + "\n")
        for row in judged:
            file.write("%s,%s,%s,%s,%s\n" % (row["candidate"], *problem(row), row["latency_us"]))


def decide(binary, folder, portfolio):
    """Returns {problem: best / chosen} and the report of `wavetune evaluate`."""
    decisions = folder / "decisions.csv"
    run = subprocess.run(
        [binary, "evaluate", "--trace", folder, "--portfolio", str(portfolio), "--json", "--write-decisions", decisions],
        capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    fractions = {problem(row): float(row["best_us"]) / float(row["chosen_us"]) for row in read(decisions)}
    return fractions, json.loads(run.stdout)


def summary(draws):
    means = [100 * statistics.geometric_mean(draw) for draw in draws]
    worst = [100 * min(draw) for draw in draws]
    return "first %.2f, mean %.2f, sd %.2f, worst %.1f (%.1f)" % (
        means[0], statistics.mean(means), statistics.stdev(means) if len(means) > 1 else 0, statistics.mean(worst), min(worst))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the wavetune program")
    parser.add_argument("profiles", nargs="*", default=["E", "F", "G", "H", "I"])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--portfolio", type=int, default=96)
    arguments = parser.parse_args()
    known_shapes = {problem(row) for row in read(HERE / "known.csv")}
    for name in arguments.profiles:
        samples = read(HERE / "profiles" / name / "samples.csv.gz")
        judged = read(HERE / "profiles" / name / "judged.csv.gz")
        unseen, known, within = [], [], []
        for draw in range(arguments.draws):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder)
                write_trace(path, samples, judged, random.Random(1000 + draw) if draw else None)
                fractions, report = decide(arguments.binary, path, arguments.portfolio)
            unseen.append([f for p, f in fractions.items() if p not in known_shapes])
            known.append([f for p, f in fractions.items() if p in known_shapes])
            within.append(report["within_bound"])
        print("%s | unseen: %s | known: %s | within their bounds %.1f %%" % (
            name, summary(unseen), summary(known), 100 * statistics.mean(within)), flush=True)


if __name__ == "__main__":
    main()
