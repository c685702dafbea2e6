import unittest

import numpy as np

import synthetic
from judging import Run, figures, halves, judge
from kernel import Problem
from learners.base import Selector
from learners.constant import Constant, LookUp, default
from learners.measured import exhaustive
from traces import SampleSet, TraceError, TracePart


def _run(part: TracePart, selector: Selector, learned_from: list[Problem] | None = None) -> Run:
    judged = np.ones(len(part.judged.problems), dtype=bool)
    return Run(part, selector, judged, learned_from or [], 0)


class JudgingTest(unittest.TestCase):
    def setUp(self) -> None:
        # At k = 65 only the default is legal.
        self.part = synthetic.part([], [Problem((64, 64, 64)), Problem((64, 64, 65))])

    def test_a_choice_is_compared_with_the_best_recorded(self) -> None:
        first, second = judge(_run(self.part, Constant(2)))
        best = min(synthetic.latency_us(first.problem, c) for c in range(5))
        self.assertAlmostEqual(first.fraction, best / synthetic.latency_us(first.problem, 2))
        self.assertFalse(first.fell_back)
        self.assertEqual(second.fraction, 1.0)

    def test_none_and_illegal_choices_are_the_default_and_counted(self) -> None:
        illegal = judge(_run(self.part, Constant(2)))[1]
        self.assertTrue(illegal.fell_back)
        self.assertEqual(illegal.chosen, 0)
        nothing = judge(_run(self.part, LookUp({})))
        self.assertTrue(all(judgement.fell_back for judgement in nothing))

    def test_a_choice_that_was_not_recorded_is_the_default(self) -> None:
        judged = self.part.judged
        keep = judged.candidate != 2
        cut = SampleSet(
            judged.problems, judged.problem[keep], judged.candidate[keep], judged.latency_us[keep]
        )
        part = TracePart(**{**vars(self.part), "judged": cut})
        self.assertTrue(judge(_run(part, Constant(2)))[0].fell_back)
        keep = judged.candidate != 0
        cut = SampleSet(
            judged.problems, judged.problem[keep], judged.candidate[keep], judged.latency_us[keep]
        )
        part = TracePart(**{**vars(self.part), "judged": cut})
        with self.assertRaisesRegex(TraceError, "default"):
            judge(_run(part, Constant(None)))

    def test_exhaustive_search_is_the_oracle_and_pays_for_it(self) -> None:
        first, _ = judge(_run(self.part, exhaustive(self.part)))
        self.assertEqual(first.fraction, 1.0)
        self.assertGreater(
            first.decision_us, sum(synthetic.latency_us(first.problem, c) for c in range(5))
        )

    def test_widths_that_were_learned_from_are_told_apart(self) -> None:
        first, second = judge(_run(self.part, default(self.part), [Problem((1, 64, 65))]))
        self.assertFalse(first.known_widths)
        self.assertTrue(second.known_widths)

    def test_figures_interpolate_the_percentile(self) -> None:
        found = figures(judge(_run(self.part, default(self.part))))
        assert found is not None
        self.assertEqual(found.problems, 2)
        self.assertEqual(found.worst, found.p5 - 0.05 * (1.0 - found.worst))
        self.assertAlmostEqual(found.geomean, found.worst**0.5)
        self.assertIsNone(figures([]))

    def test_halves_share_widths(self) -> None:
        widths = [(64, 64), (128, 64)]
        part = synthetic.part([], synthetic.problems([1, 2, 3, 4], widths))
        half = halves(part)
        for wanted in (half, ~half):
            chosen = [p for p, is_in in zip(part.judged.problems, wanted) if is_in]
            self.assertEqual(len(chosen), 4)
            self.assertEqual({part.kernel.widths(p) for p in chosen}, set(widths))


if __name__ == "__main__":
    unittest.main()
