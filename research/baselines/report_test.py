import dataclasses
import unittest

import report
from judging import Judgement
from kernel import Problem


def _row(known: list[bool], decision_us: float | None = 0.25) -> report.Row:
    judgements = [
        Judgement(Problem((number,)), 0, 0.5, number == 0, is_known, 1.0)
        for number, is_known in enumerate(known)
    ]
    return report.Row("trees", "", "samples", judgements, 1234, 100, decision_us, {})


class ReportTest(unittest.TestCase):
    def test_a_row_has_its_figures(self) -> None:
        table = report.markdown([_row([False, False])])
        self.assertIn(
            "| trees | samples | 50.0 % | 50.0 % | 50.0 % | 1 | 250 ns | 1,234 (12.3) |", table
        )
        self.assertNotIn("unseen", table)

    def test_known_and_unseen_widths_are_told_apart(self) -> None:
        table = report.markdown([_row([True, False, False], None)])
        self.assertIn("50.0 %, 50.0 % (1 problems) | 50.0 %, 50.0 % (2 problems)", table)
        self.assertIn("not measured", table)

    def test_specialisations_are_told_apart(self) -> None:
        row = _row([False, False])
        self.assertNotIn("causal", report.markdown([row]))
        judgements = [
            dataclasses.replace(j, problem=Problem((1,), (), name), fraction=fraction)
            for j, name, fraction in zip(row.judgements, ("full", "causal"), (0.5, 0.75))
        ]
        table = report.markdown([dataclasses.replace(row, judgements=judgements)])
        self.assertIn("| method | learned from | causal | full |", table)
        self.assertIn("| 75.0 %, 75.0 % (1 problems) | 50.0 %, 50.0 % (1 problems) |", table)

    def test_the_json_has_every_problem(self) -> None:
        json = report.as_json([_row([True, False])], {"kernel": "gemm"})
        self.assertEqual(json["kernel"], "gemm")
        (method,) = json["methods"]
        self.assertEqual(len(method["problems"]), 2)
        self.assertEqual(method["oracle_fraction"]["geomean"], 0.5)
        self.assertEqual(method["known_widths"]["problems"], 1)


if __name__ == "__main__":
    unittest.main()
