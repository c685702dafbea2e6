"""The table, as Markdown for people and as JSON for programs."""

from __future__ import annotations

import dataclasses
from typing import Any

from judging import Figures, Judgement, figures


@dataclasses.dataclass(frozen=True)
class Row:
    """One method, judged."""

    name: str
    variant: str  # Which of several was best; empty for one.
    learned_from: str
    judgements: list[Judgement]
    samples: float
    candidates: int
    decision_us: float | None  # None: not measured.
    others: dict[str, Figures]  # The variants that were not best.

    @property
    def overall(self) -> Figures:
        result = figures(self.judgements)
        assert result is not None, "a method judged on nothing"
        return result

    @property
    def fallbacks(self) -> int:
        return sum(judgement.fell_back for judgement in self.judgements)

    def by_widths(self, known: bool) -> Figures | None:
        """Returns the figures of problems whose widths were, or were not, learned from."""
        return figures([j for j in self.judgements if j.known_widths == known])

    def by_specialisation(self) -> dict[str, Figures]:
        """Returns the figures of each specialisation that was judged, by name."""
        apart: dict[str, list[Judgement]] = {}
        for judgement in self.judgements:
            apart.setdefault(judgement.problem.specialisation, []).append(judgement)
        found = {name: figures(judgements) for name, judgements in apart.items()}
        return {name: of for name, of in found.items() if of is not None}


def markdown(rows: list[Row]) -> str:
    """Returns the table, one with specialisations apart where there are several, and one with
    known and unseen widths apart where a method knew those of some problems."""
    head = [
        "method",
        "learned from",
        "of the oracle",
        "5th percentile",
        "worst",
        "to default",
        "decision",
        "samples (per candidate)",
    ]
    lines = [_row(head), _row(["---"] * len(head))]
    for row in rows:
        overall = row.overall
        lines.append(
            _row(
                [
                    _name(row),
                    row.learned_from,
                    _percent(overall.geomean),
                    _percent(overall.p5),
                    _percent(overall.worst),
                    str(row.fallbacks),
                    _time(row.decision_us),
                    _samples(row),
                ]
            )
        )
    names = sorted({name for row in rows for name in row.by_specialisation()})
    if len(names) > 1:
        cells = [[row.by_specialisation().get(name) for name in names] for row in rows]
        lines += ["", *_apart(rows, names, cells)]
    split = [row for row in rows if row.by_widths(True) and row.by_widths(False)]
    if split:
        cells = [[row.by_widths(True), row.by_widths(False)] for row in split]
        lines += ["", *_apart(split, ["known widths", "unseen widths"], cells)]
    return "\n".join(lines) + "\n"


def as_json(rows: list[Row], about: dict[str, Any]) -> dict[str, Any]:
    """Returns the table with every problem's fraction; `about` says what was compared."""
    return {**about, "methods": [_json_row(row) for row in rows]}


def _apart(rows: list[Row], heads: list[str], cells: list[list[Figures | None]]) -> list[str]:
    """Returns the lines of a table with some problems apart; `cells` is [rows, heads]."""
    head = ["method", "learned from", *heads]
    lines = [_row(head), _row(["---"] * len(head))]
    for row, found in zip(rows, cells):
        lines.append(_row([_name(row), row.learned_from, *map(_few, found)]))
    return lines


def _few(of: Figures | None) -> str:
    if of is None:
        return ""
    return f"{_percent(of.geomean)}, {_percent(of.p5)} ({of.problems} problems)"


def _json_row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "variant": row.variant,
        "learned_from": row.learned_from,
        "oracle_fraction": dataclasses.asdict(row.overall),
        "by_specialisation": {
            name: dataclasses.asdict(of) for name, of in row.by_specialisation().items()
        },
        "known_widths": _optional(row.by_widths(True)),
        "unseen_widths": _optional(row.by_widths(False)),
        "fallbacks": row.fallbacks,
        "decision_us": row.decision_us,
        "samples": row.samples,
        "samples_per_candidate": row.samples / row.candidates,
        "other_variants": {name: dataclasses.asdict(f) for name, f in row.others.items()},
        "problems": [
            {
                "problem": list(j.problem.extents),
                "repeated": list(j.problem.repeated),
                "specialisation": j.problem.specialisation,
                "candidate": j.chosen,
                "fraction": j.fraction,
            }
            for j in row.judgements
        ],
    }


def _optional(of: Figures | None) -> dict[str, Any] | None:
    return None if of is None else dataclasses.asdict(of)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _name(row: Row) -> str:
    return f"{row.name} ({row.variant})" if row.variant else row.name


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def _time(microseconds: float | None) -> str:
    if microseconds is None:
        return "not measured"
    if microseconds < 1:
        return f"{1e3 * microseconds:.0f} ns"
    if microseconds < 1e3:
        return f"{microseconds:.0f} µs"
    return f"{microseconds / 1e3:.1f} ms"


def _samples(row: Row) -> str:
    if row.samples == 0:
        return "0"
    return f"{row.samples:,.0f} ({row.samples / row.candidates:.1f})"
