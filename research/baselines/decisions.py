"""What each method decided, as the comma-separated values that `wavetune report --baseline` reads:
a problem and a configuration on each line, the columns of `wavetune evaluate --write-decisions`."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from judging import Judgement
from report import Row
from traces import Trace, TracePart


def write(folder: Path, trace: Trace, rows: list[Row]) -> list[Path]:
    """Writes a file for each row, in the order of the rows; makes the folder where there is none.
    A choice that fell back counts, and is written, as the default. Errors: OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for row in rows:
        path = folder / file_name(row)
        path.write_text(text(trace, row.judgements), encoding="utf-8")
        paths.append(path)
    return paths


def file_name(row: Row) -> str:
    """Returns for example "decision_tree.other_half.csv": a method may learn in several ways."""
    return f"{_slug(row.name)}.{_slug(row.learned_from)}.csv"


def text(trace: Trace, judgements: list[Judgement]) -> str:
    """Returns the lines, sorted by problem."""
    parts = {part.specialisation: part for part in trace.parts}
    kernel = trace.kernel
    specialised = list(kernel.specialisations) != [""]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (["specialisation"] if specialised else []) + kernel.dimensions + kernel.parameters
    )
    for judgement in sorted(judgements, key=lambda j: j.problem):
        own = [judgement.problem.specialisation] if specialised else []
        part = parts[judgement.problem.specialisation]
        writer.writerow(own + _extents(part, judgement) + _configuration(part, judgement))
    return out.getvalue()


def _extents(part: TracePart, judgement: Judgement) -> list[str]:
    problem = judgement.problem
    return [
        " ".join(map(str, problem.repeated)) if name == part.kernel.repeated else str(extent)
        for name, extent in zip(part.kernel.dimensions, problem.extents)
    ]


def _configuration(part: TracePart, judgement: Judgement) -> list[str]:
    return [str(value) for value in part.candidates.configurations[judgement.chosen]]


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
