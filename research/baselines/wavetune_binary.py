"""Runs the programs that are compared with: `wavetune evaluate` and the decision benchmark."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path
from typing import Any


# Rows of the tables that decision_benchmark decides with.
TIMED_ROWS = {16, 32, 48}


class ProgramError(RuntimeError):
    """A program failed; has its words."""


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """What `wavetune evaluate` left."""

    figures: dict[str, Any]  # Its JSON.
    command: list[str]
    samples: Path
    decisions: Path


def evaluate(binary: Path, trace: Path, mode: list[str], folder: Path) -> Evaluated:
    """Runs `wavetune evaluate --trace` with the options `mode`; files go to `folder`. Errors:
    ProgramError; OSError where the binary is missing."""
    samples, decisions = folder / "samples.csv", folder / "decisions.csv"
    command = [str(binary), "evaluate", "--trace", str(trace), *mode]
    files = ["--write-samples", str(samples), "--write-decisions", str(decisions), "--json"]
    output = _run([*command, *files])
    return Evaluated(json.loads(output), command, samples, decisions)


def decision_ns(binary: Path, rows: int) -> float:
    """Returns nanoseconds of one new decision among TIMED_ROWS rows, less the empty loop's, from
    decision_benchmark: median of five repetitions. Errors: ProgramError; OSError."""
    output = _run(
        [
            str(binary),
            f"--benchmark_filter=^(NewProblem/{rows}|NoOp)$",
            "--benchmark_repetitions=5",
            "--benchmark_report_aggregates_only=true",
            "--benchmark_format=json",
        ]
    )
    times = {
        entry["run_name"]: entry["cpu_time"]
        for entry in json.loads(output)["benchmarks"]
        if entry.get("aggregate_name") == "median"
    }
    return times[f"NewProblem/{rows}"] - times["NoOp"]


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProgramError(f"{' '.join(command)} exited with {done.returncode}: {done.stderr}")
    return done.stdout
