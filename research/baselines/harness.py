"""Compares selectors of configurations on a recorded kernel (README.md says how to run it)."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import decisions
import judging
import methods
import report
import wavetune_binary
from judging import Figures, Judgement
from methods import Case, Method, Runs
from textproto import TextProtoError
from traces import Trace, TraceError, read_choices, read_samples, read_trace

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("numpy", "scikit-learn", "xgboost-cpu", "nvidia-matmul-heuristics")
_DECISION = (
    "median of one new problem at a time on this machine; WaveTune in C++ (decision_benchmark: "
    "a random table of as many rows), the others in Python, as implemented here"
)
# How far our own figure and the CLI's may lie apart: decisions are written with six digits.
_SAME = 1e-5


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path, required=True, help="folder of a recorded kernel")
    parser.add_argument(
        "--fit",
        choices=("profile", "anchors"),
        help="what ours and the other learners get: what profiling asks for (the default where "
        "representative problems were recorded), or every anchor",
    )
    parser.add_argument(
        "--wavetune", type=Path, default=_ROOT / "build/release/bin/wavetune", help="the CLI"
    )
    parser.add_argument(
        "--portfolio",
        type=int,
        nargs="+",
        default=[],
        help="a row of ours for each of these sizes; default: one, of the kernel's size",
    )
    parser.add_argument(
        "--decision-benchmark",
        type=Path,
        help="decision_benchmark, which times our decision of 16, 32 and 48 rows; without it "
        "--our-decision-ns",
    )
    parser.add_argument("--our-decision-ns", type=float, help="nanoseconds, measured elsewhere")
    parser.add_argument(
        "--every-sample",
        action="store_true",
        help="also train the boosted trees on every recorded sample (minutes)",
    )
    parser.add_argument("--gpu", help="as nvMatmulHeuristics calls it; default: by the label")
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    parser.add_argument(
        "--write-decisions",
        type=Path,
        metavar="DIR",
        help="also write what each method decided to a file of its own in this folder, for "
        "`wavetune report --baseline`",
    )
    arguments = parser.parse_args()
    if arguments.decision_benchmark and not {*arguments.portfolio} <= wavetune_binary.TIMED_ROWS:
        parser.error("--decision-benchmark times portfolios of 16, 32 and 48 only")
    return arguments


def _gpu(label: str) -> str | None:
    """Returns the name under which nvMatmulHeuristics knows a device, by its label."""
    for part, name in (("H200", "H200_SXM"), ("H100", "H100_SXM"), ("A100", "A100_SXM_80GB")):
        if part in label:
            return name
    return None


def _evaluate(
    arguments: argparse.Namespace, mode: list[str], folder: Path
) -> dict[str, wavetune_binary.Evaluated]:
    """Returns what our tables come to, by the name of their row."""
    sizes = {f"WaveTune, portfolio {size}": size for size in arguments.portfolio}
    evaluated = {}
    for name, size in (sizes or {"WaveTune": None}).items():
        more = [] if size is None else ["--portfolio", str(size)]
        files = folder / str(size)
        files.mkdir()
        evaluated[name] = wavetune_binary.evaluate(
            arguments.wavetune, arguments.trace, [*mode, *more], files
        )
    return evaluated


def _cases(trace: Trace, evaluated: dict[str, wavetune_binary.Evaluated]) -> list[Case]:
    """Samples are planned before the portfolio is chosen: they are the same for all sizes."""
    samples = next(iter(evaluated.values())).samples
    return [
        Case(
            part,
            read_samples(trace.kernel, part, samples),
            {
                name: read_choices(trace.kernel, part, of.decisions)
                for name, of in evaluated.items()
            },
        )
        for part in trace.parts
    ]


def judge_method(method: Method, cases: list[Case], our_us: float | None) -> report.Row:
    """Judges all variants of a method and keeps the best one, in hindsight. Ours decides in
    `our_us`; None: not measured."""
    judged = {name: _judge_variant(make, cases) for name, make in method.variants.items()}
    overall = {name: _figures(judgements) for name, (judgements, _) in judged.items()}
    variant = max(overall, key=lambda name: overall[name].geomean)
    judgements, samples = judged[variant]
    return report.Row(
        name=method.name,
        variant=variant,
        learned_from=method.learned_from,
        judgements=judgements,
        samples=samples,
        candidates=sum(len(case.part.candidates) for case in cases),
        decision_us=(
            our_us if method.ours else float(np.median([j.decision_us for j in judgements]))
        ),
        others={name: found for name, found in overall.items() if name != variant},
    )


def _judge_variant(make: Runs, cases: list[Case]) -> tuple[list[Judgement], float]:
    """Returns judgements over all specialisations, and the samples that they rest on."""
    judgements: list[Judgement] = []
    samples = 0.0
    for case in cases:
        runs = make(case)
        # Of two halves a service would tune one.
        samples += sum(run.samples for run in runs) / len(runs)
        for run in runs:
            judgements += judging.judge(run)
    return judgements, samples


def _figures(judgements: list[Judgement]) -> Figures:
    found = judging.figures(judgements)
    assert found is not None, "a trace without judged problems is refused"
    return found


def _check_same(row: report.Row, figures: dict[str, Any]) -> None:
    """Both programs must have judged the same choices by the same measurements."""
    theirs = figures["oracle_fraction_geomean"]
    if abs(row.overall.geomean - theirs) > _SAME or row.overall.problems != figures["problems"]:
        raise TraceError(
            f"judged here, our choices reach {row.overall.geomean}, `wavetune evaluate` says "
            f"{theirs}: the trace is read differently"
        )


def _our_decision_us(arguments: argparse.Namespace, name: str) -> float | None:
    """Returns microseconds of one decision of the row `name`; None: not measured."""
    if arguments.our_decision_ns is not None:
        return arguments.our_decision_ns / 1e3
    if arguments.decision_benchmark is None:
        return None
    rows = int(name.rpartition(" ")[2]) if arguments.portfolio else 16
    return wavetune_binary.decision_ns(arguments.decision_benchmark, rows) / 1e3


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def main() -> int:
    """Prints the table; returns the exit status."""
    try:
        _compare(_arguments())
    except (OSError, TraceError, TextProtoError, wavetune_binary.ProgramError) as error:
        print(f"harness: {error}", file=sys.stderr)
        return 1
    return 0


def _compare(arguments: argparse.Namespace) -> None:
    trace = read_trace(arguments.trace)
    recorded = all(len(part.representative) for part in trace.parts)
    planned = (arguments.fit or ("profile" if recorded else "anchors")) == "profile"
    with tempfile.TemporaryDirectory() as folder:
        evaluated = _evaluate(arguments, ["--profile"] if planned else [], Path(folder))
        cases = _cases(trace, evaluated)
    gpu = arguments.gpu or _gpu(trace.label)
    compared, notes = methods.methods(cases, methods.Options(planned, gpu, arguments.every_sample))
    rows = []
    for method in compared:
        start = time.monotonic()
        our_us = _our_decision_us(arguments, method.name) if method.ours else None
        rows.append(judge_method(method, cases, our_us))
        if method.ours:
            _check_same(rows[-1], evaluated[method.name].figures)
        print(f"{method.name}: {time.monotonic() - start:.1f} s", file=sys.stderr)
    for name, of in evaluated.items():
        notes += [f"{name}: {note}" for note in of.figures["notes"]]
    _print(rows, notes)
    if arguments.write_decisions:
        for path in decisions.write(arguments.write_decisions, trace, rows):
            print(f"wrote {path}", file=sys.stderr)
    if arguments.json:
        about = {
            "kernel": trace.kernel.name,
            "device": trace.label,
            "commands": {name: of.command for name, of in evaluated.items()},
            "digests": {name: of.figures["digest"] for name, of in evaluated.items()},
            "versions": _versions(),
            "notes": notes,
        }
        arguments.json.write_text(json.dumps(report.as_json(rows, about), indent=1) + "\n")


def _print(rows: list[report.Row], notes: list[str]) -> None:
    print(report.markdown(rows))
    for word in dict.fromkeys(row.learned_from for row in rows):
        if word in methods.LEGEND:
            print(f"- {word}: {methods.LEGEND[word]}")
    print(f"- decision: {_DECISION}")
    for note in notes:
        print(f"- {note}")


if __name__ == "__main__":
    sys.exit(main())
