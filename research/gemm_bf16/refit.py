#!/usr/bin/env python3
"""Fits recorded profiles again, disturbed, and judges the choices, by model.

    python3 refit.py ../../build/release/bin/wavetune [E F G H I O] [--draws 8] [--save new.json] [--against old.json]

What can be judged:

* E F G H I, H200s, and O, an H100: samples of a profile, profiles/NAME/samples.csv.gz, judged by what the same GPU measured of every candidate,
  profiles/NAME/judged.csv.gz. Nothing is planned: this judges the fit alone.
* replay: the recording tests/data/h200/gemm_bf16, planned step by step as a profile is. This judges the planner, too;
  a draw takes minutes.
* triton-gemm, triton-attention: the anchors of tests/data/h200_triton_*.

The first draw is the data as they are. In every other one latencies have 0.6 % of noise, and of all but the replay a
random 8 % of the samples are left out. One draw says little: which candidate is predicted too low by luck differs from draw
to draw, so changes are compared by the mean, the standard deviation and the worst of all draws; --against compares draw by
draw with what an earlier run saved, which says the standard error of a difference.

split.csv says which models constants may be chosen on ("choose") and which judge ("judge"): choose on the first, report
both. Printed for each: best / chosen latency in per cent, geometric means, of widths (n, k) that were not profiled
("unseen") and that were ("known"), and of decode (m <= 64) among all of them.
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
DATA = HERE.parent.parent / "tests" / "data"
RECORDING = DATA / "h200" / "gemm_bf16"
H200S = ["E", "F", "G", "H", "I"]
PROFILES = H200S + ["O"]
TRACES = {"triton-gemm": DATA / "h200_triton_gemm", "triton-attention": DATA / "h200_triton_attention"}
NOISE = 0.006  # Standard deviation of the logarithm.
DROPPED = 0.08
DECODE_ROWS = 64
COLUMNS = ("candidate", "m", "n", "k", "latency_us")


def read(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def problem(row):
    return row["m"], row["n"], row["k"]


def copy(trace, folder, names):
    for name in names:
        if (trace / name).exists():
            (folder / name).write_bytes((trace / name).read_bytes())


def disturbed(rows, rng, dropped):
    """Rows with noise on their latencies and some left out; as they are without rng."""
    if rng is None:
        return rows
    kept = []
    for row in rows:
        if rng.random() < dropped:
            continue
        factor = math.exp(rng.gauss(0, NOISE))
        kept.append({name: "%.6g" % (float(value) * factor) if name.startswith("latency_us") and value else value
                     for name, value in row.items()})
    return kept


def as_judged(rows):
    return [{name: row[name] for name in COLUMNS} for row in rows]


def write_profile(folder, name, rng):
    """A trace (docs/traces.md) whose anchors are the samples of a profile, disturbed unless rng is None."""
    samples = read(HERE / "profiles" / name / "samples.csv.gz")
    judged = read(HERE / "profiles" / name / "judged.csv.gz")
    copy(RECORDING, folder, ("manifest.textproto", "device.textproto", "candidates.csv"))
    apart = {problem(row) for row in judged}
    write(folder / "anchors.csv.gz", disturbed([row for row in samples if problem(row) not in apart], rng, DROPPED))
    write(folder / "exhaustive.csv.gz", as_judged(judged))


def write_replay(folder, rng):
    """The recording, its anchors and representative problems disturbed, judged at unseen and known widths."""
    copy(RECORDING, folder, ("manifest.textproto", "device.textproto", "candidates.csv"))
    for name in ("anchors.csv.gz", "representative.csv.gz"):
        write(folder / name, disturbed(read(RECORDING / name), rng, 0))
    judged = read(RECORDING / "exhaustive.csv.gz") + read(RECORDING / "known.csv.gz")
    write(folder / "exhaustive.csv.gz", as_judged(judged))


def write_trace(folder, trace, rng):
    copy(trace, folder, ("manifest.textproto", "device.textproto", "candidates.csv", "exhaustive.csv.gz"))
    write(folder / "anchors.csv.gz", disturbed(read(trace / "anchors.csv.gz"), rng, DROPPED))


def evaluate(arguments, name, rng):
    """Returns the decisions, one row a judged problem, and the report of `wavetune evaluate`."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        options = []
        if name in PROFILES:
            write_profile(folder, name, rng)
            options = ["--portfolio", str(arguments.portfolio)]
        elif name == "replay":
            write_replay(folder, rng)
            options = ["--profile", "--portfolio", str(arguments.portfolio)]
        else:
            write_trace(folder, TRACES[name], rng)
        decisions = folder / "decisions.csv"
        run = subprocess.run(
            [arguments.binary, "evaluate", "--trace", folder, *options, "--json", "--write-decisions", decisions],
            capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(run.stderr)
        return read(decisions), json.loads(run.stdout)


class Split:
    """Says which groups of figures a judged problem belongs to."""

    def __init__(self):
        self.roles = []
        for row in read(HERE / "split.csv"):
            extents = dict(part.split("=") for part in row["extents"].split())
            self.roles.append((extents, row["role"]))
        self.known = {(row["n"], row["k"]) for row in read(HERE / "known.csv")}

    def role(self, row):
        for extents, role in self.roles:
            if all(row.get(name) == value for name, value in extents.items()):
                return role
        sys.exit("split.csv has no model for %s: say which split judges it" % row)

    def groups(self, name, row):
        role = self.role(row)
        if name in TRACES:  # Triton's kernels name no widths.
            return [role]
        seen = "known" if (row["n"], row["k"]) in self.known else "unseen"
        decode = [role + " decode"] if int(row["m"]) <= DECODE_ROWS else []
        return [role + " " + seen, *decode]


def fractions(name, rows, split):
    """{problem as text: [best / chosen, its groups]}"""
    result = {}
    for row in rows:
        extents = {key: value for key, value in row.items()
                   if key in ("m", "n", "k", "batch", "heads", "kv_heads", "seq_q", "seq_kv", "specialisation")}
        text = " ".join("%s=%s" % item for item in extents.items())
        result[text] = [float(row["best_us"]) / float(row["chosen_us"]), split.groups(name, extents)]
    return result


def means(draw):
    """Geometric mean of each group, in per cent."""
    groups = {}
    for fraction, names in draw.values():
        for name in names:
            groups.setdefault(name, []).append(fraction)
    return {name: 100 * statistics.geometric_mean(values) for name, values in groups.items()}


def worst(draw, group):
    return 100 * min(fraction for fraction, names in draw.values() if group in names)


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else 0


def print_figures(title, draws):
    """draws: [[draw of one profile]] of one or more profiles; the deviation is that of draws of one profile."""
    groups = sorted({name for draw in sum(draws, []) for name in means(draw)})
    for group in groups:
        of_profile = [[means(draw)[group] for draw in of_one] for of_one in draws]
        every = sum(of_profile, [])
        spread = math.sqrt(statistics.mean(deviation(values) ** 2 for values in of_profile))
        lows = [worst(draw, group) for draw in sum(draws, [])]
        print("%-17s %-14s first %.2f, mean %.2f, sd %.2f, worst %.1f (%.1f)" % (
            title, group, statistics.mean(values[0] for values in of_profile), statistics.mean(every), spread,
            statistics.mean(lows), min(lows)), flush=True)


def print_differences(title, old, new):
    """Draw by draw, of what both runs have."""
    pairs = [(means(old[name][i]), means(new[name][i])) for name in new if name in old
             for i in range(min(len(old[name]), len(new[name])))]
    for group in sorted({group for _, draw in pairs for group in draw}):
        values = [b[group] - a[group] for a, b in pairs if group in a and group in b]
        if values:
            print("%-17s %-14s difference %+.3f, standard error %.3f (%d draws)" % (
                title, group, statistics.mean(values), deviation(values) / math.sqrt(len(values)), len(values)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the wavetune program")
    parser.add_argument("names", nargs="*", default=H200S, help="E F G H I (the default), O, replay, triton-gemm, triton-attention")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--portfolio", type=int, default=96, help="of gemm_bf16")
    parser.add_argument("--save", type=pathlib.Path, help="write what was found, for --against")
    parser.add_argument("--against", type=pathlib.Path, help="compare with what an earlier run saved, draw by draw")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in PROFILES + ["replay"] + list(TRACES):
            parser.error("unknown name %s: E F G H I, O, replay, triton-gemm or triton-attention" % name)
    split = Split()
    found = {}
    for name in arguments.names:
        reports = []
        for draw in range(arguments.draws):
            rows, report = evaluate(arguments, name, random.Random(1000 + draw) if draw else None)
            found.setdefault(name, []).append(fractions(name, rows, split))
            reports.append(report)
        print_figures(name, [found[name]])
        print("%-17s within their bounds %.1f %%, samples a candidate %.1f" % (
            name, 100 * statistics.mean(report["within_bound"] for report in reports),
            statistics.mean(report["samples_per_candidate"] for report in reports)), flush=True)
        if arguments.save:
            arguments.save.write_text(json.dumps(found))
    profiles = [found[name] for name in found if name in PROFILES]
    if len(profiles) > 1:
        print_figures("profiles", profiles)
    if arguments.against:
        old = json.loads(arguments.against.read_text())
        print_differences("profiles", old, {name: found[name] for name in found if name in PROFILES})
        for name in found:
            if name not in PROFILES:
                print_differences(name, old, {name: found[name]})


if __name__ == "__main__":
    main()
