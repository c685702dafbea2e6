"""Arguments, files and outputs that no program may swallow in silence.

Results into a full disk, numbers that are none, comma-separated values as spreadsheets write them, ten thousand bad
lines, experts without tokens.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, ROOT, Node, check, main  # pylint: disable=wrong-import-position

MARK = "\ufeff"  # A byte order mark.
NO_NUMBERS = ("nan", "inf", "-inf", "1e300", "-1", "ten", "")


def run(node, program, *arguments, stdout=subprocess.PIPE, timeout=120):
    """Runs a program; returns the exit code and what it said on stderr (and on stdout)."""
    result = subprocess.run([BIN / program, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, timeout=timeout, encoding="utf-8", errors="surrogateescape",
                            check=False,
                            env={**os.environ, "WAVETUNE_ENDPOINT": node.socket(),
                                 "WAVETUNE_CACHE_DIR": str(node.folder / "tables")})
    return result.returncode, (result.stdout or "") + result.stderr


def full_disk(node, job):
    """Every command that prints fails where nothing can be printed."""
    kernel = node.kernels / "column_sum"
    trace = ROOT / "tests/data/h200_triton_gemm"
    commands = [
        ("wavetune", "--help"), ("wavetune", "--version"), ("wavetune", "bench", "--help"),
        ("wavetune", "status"), ("wavetune", "status", "--json"), ("wavetune", "devices"),
        ("wavetune", "kernels", "list"), ("wavetune", "kernels", "check", kernel),
        ("wavetune", "kernels", "compile", kernel, "--sample", 1),
        ("wavetune", "jobs", "list"), ("wavetune", "jobs", "show", job),
        ("wavetune", "tables", "list"), ("wavetune", "tables", "show", "column_sum"),
        ("wavetune", "resolve", "column_sum", "n=256", "k=64"), ("wavetune", "explain", "column_sum", "n=256", "k=64"),
        ("wavetune", "resolve", "column_sum", "n=256", "k=64", "--json"),
        ("wavetune", "evaluate", "--trace", trace),
        ("wavetune", "report", "column_sum", "--out", node.folder / "report.html"),
        ("wavetune", "reprofile", "--kernel", "column_sum", "--refit-only"),
        ("wavetune-agent", "--help"), ("wavetune-agent", "--version"),
        ("wavetune-agent", "compile", "--kernel-dir", kernel, "--sample", 1),
        ("wavetuned", "--help"), ("wavetuned", "--version"),
    ]
    with open("/dev/full", "w", encoding="utf-8") as full:
        for command in commands:
            code, said = run(node, *command, stdout=full)
            words = " ".join(str(word) for word in command)
            check(code == 1 and "could not be written" in said, f"into a full disk fails: {words} ({code}: {said[:90]!r})")
    for option in ("--save-table", "--write-samples", "--write-decisions"):
        code, said = run(node, "wavetune", "evaluate", "--trace", trace, option, "/dev/full")
        check(code == 1 and "No space left" in said, f"evaluate {option} /dev/full says why it fails ({said[-90:]!r})")
    code, said = run(node, "wavetune", "tables", "save", "column_sum", "--out", "/dev/full")
    check(code != 0 and "/dev/full" in said, f"tables save --out /dev/full fails ({code}: {said[-90:]!r})")


def numbers(node):
    """No numeric option of any program takes what is no number or out of all proportion."""
    shapes = node.folder / "shapes.csv"
    shapes.write_text("n,k\n256,64\n")
    trace = ("--trace", ROOT / "tests/data/h200_triton_gemm")
    report = ("report", "--out", node.folder / "report.html", *trace)
    bench = ("bench", "column_sum", "--shapes", shapes)
    compiles = ("--kernel-dir", node.kernels / "column_sum")
    cases = [
        ("wavetuned", (), ("--budget", "--generations", "--refine-budget", "--refine-interval-hours",
                           "--sample-limit-mib")),
        ("wavetune-agent", (), ("--prepare-workers", "--prepare-timeout", "--measure-timeout", "--memory-cap", "--nice",
                                "--cache-limit-mib")),
        ("wavetune-agent", ("compile", *compiles), ("--sample",)),
        ("wavetune", bench, ("--leaders", "--rounds")),
        ("wavetune", (*bench, "--record", node.folder / "trace"), ("--anchors",)),
        ("wavetune", (*bench, "--local"), ("--budget",)),
        ("wavetune", ("evaluate", *trace, "--profile"), ("--samples-per-candidate", "--portfolio")),
        ("wavetune", report, ("--samples-per-candidate", "--portfolio")),
        ("wavetune", ("reprofile", "--kernel", "column_sum"), ("--budget", "--samples-per-candidate", "--portfolio")),
        ("wavetune", ("kernels", "compile", node.kernels / "column_sum"), ("--sample",)),
        ("wavetune", ("jobs", "list"), ("--limit",)),
    ]
    for program, arguments, options in cases:
        for option in options:
            for number in NO_NUMBERS:
                code, said = run(node, program, *arguments, f"{option}={number}", timeout=20)
                check(code == 2 and option in said, f"{program} refuses {option}={number} ({code}: {said[:70]!r})")


def values(node):
    """Comma-separated values: what is meant is read, what is not is told once."""
    shapes = node.folder / "shapes.csv"

    def bench(text):
        shapes.write_text(text, encoding="utf-8")
        return run(node, "wavetune", "bench", "column_sum", "--shapes", shapes, "--rounds", 1, timeout=240)

    code, said = bench(MARK + "n,k\r\n300,70\r\n")
    check(code == 0, f"a byte order mark is no part of a name ({said[-200:]!r})")
    code, said = bench("n,k,N\n300,70,5\n")
    check(code == 2 and "both named" in said, f"a column named twice is refused ({said!r})")
    code, said = bench("n,k\n" + "x,y\n" * 10000)
    check(code == 2 and len(said.splitlines()) < 20 and "more" in said,
          f"of 10,000 bad lines the first are told ({len(said.splitlines())} lines)")
    code, said = bench("n,k\n" + "1\n" * 10000)
    check(code == 2 and len(said.splitlines()) < 20, "of 10,000 short lines, too")


def experts(node):
    """A repeated dimension takes experts without tokens, and the same separators everywhere."""
    for rows in ("5,0,7", "5 0 7", "5;0;7", "0,0,0"):
        code, said = run(node, "wavetune", "resolve", "grouped_sum", f"rows={rows}", "k=256")
        check(code == 0 and "FAULT" not in said.upper(), f"rows={rows} is decided ({said!r})")
    for rows in ("5,,7", "5,-1", "", "5,x"):
        _, said = run(node, "wavetune", "resolve", "grouped_sum", f"rows={rows}", "k=256")
        check("rows" in said and ("whole number" in said or "negative" in said or "no elements" in said),
              f"rows={rows} is explained ({said[:90]!r})")
    _, said = run(node, "wavetune", "resolve", "grouped_sum", "rows=" + ",".join(["x"] * 10000), "k=256")
    check(len(said.splitlines()) < 40, f"10,000 bad elements are told in {len(said.splitlines())} lines")
    shapes = node.folder / "grouped.csv"
    shapes.write_text('rows,k\n5 0 7,200\n"9,0",200\n0;3,200\n')
    code, said = run(node, "wavetune", "bench", "grouped_sum", "--shapes", shapes, "--rounds", 1, timeout=240)
    check(code == 0, f"shapes with experts without tokens are measured ({said[-300:]!r})")
    shapes.write_text("rows,k\n0 0,200\n")
    code, said = run(node, "wavetune", "bench", "grouped_sum", "--shapes", shapes, "--rounds", 1)
    check(code != 0 and "nothing to launch" in said, f"no tokens at all cannot be measured ({said[-200:]!r})")


def scenario():
    with Node() as node:
        node.add_kernel("column_sum")
        node.add_kernel("grouped_sum")
        numbers(node)
        node.start_daemon()
        node.start_agent()
        node.serve_table("column_sum")
        job = node.reprofile("grouped_sum")
        record = node.wait_for_job(job)
        check(record["state"] == "SUCCEEDED", f"grouped_sum is profiled ({record.get('message')})")
        values(node)
        experts(node)
        full_disk(node, job)


main(scenario)
