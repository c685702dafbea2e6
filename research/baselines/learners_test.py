import unittest
from unittest import mock

import numpy as np

import synthetic
from kernel import Problem
from learners import boosted
from learners.base import Selector, Training
from learners.boosted import BoostedTrees
from learners.constant import best_single
from learners.matmul_heuristics import NearestCandidate, applies_to
from learners.measured import MeasureBest
from learners.nearest import NearestTuned
from learners.plain_wave import PlainWave
from learners.tree import DecisionTree, RegretTree

TUNED = synthetic.problems(
    [1, 16, 32, 64, 128, 256, 1024], [(640, 256), (640, 2048), (6400, 512), (6400, 4096)]
)
JUDGED = synthetic.problems([8, 48, 200, 700], [(1280, 512), (3200, 1536)])


def _training() -> Training:
    part = synthetic.part(TUNED, JUDGED)
    return Training(part, part.representative)


def _worst(selector: Selector) -> float:
    fractions = []
    for problem in JUDGED:
        chosen = selector.choose(problem)
        assert chosen is not None
        best = min(synthetic.latency_us(problem, c) for c in range(5))
        fractions.append(best / synthetic.latency_us(problem, chosen))
    return min(fractions)


class BestSingleTest(unittest.TestCase):
    def test_of_complete_measurements_the_least_geometric_mean(self) -> None:
        training = _training()
        means = np.log(training.samples.matrix(5)).mean(axis=0)
        self.assertEqual(best_single(training).choose(TUNED[0]), int(np.argmin(means)))

    def test_what_was_measured_at_few_problems_is_no_answer(self) -> None:
        part = synthetic.part([Problem((64, 64, 64)), Problem((64, 64, 65))], JUDGED)
        self.assertEqual(best_single(Training(part, part.representative)).choose(TUNED[0]), 0)


class NearestTunedTest(unittest.TestCase):
    def test_takes_the_nearest_tokens_of_the_same_widths(self) -> None:
        training = _training()
        best = dict(zip(TUNED, training.best_of_problem()))
        chosen = NearestTuned(training).choose(Problem((90, 640, 2048)))
        self.assertEqual(chosen, best[Problem((64, 640, 2048))])

    def test_unseen_widths_borrow_from_the_nearest(self) -> None:
        training = _training()
        best = dict(zip(TUNED, training.best_of_problem()))
        chosen = NearestTuned(training).choose(Problem((20, 5000, 3000)))
        self.assertEqual(chosen, best[Problem((16, 6400, 4096))])


class LearnersTest(unittest.TestCase):
    def test_trees_learn_what_splits_the_problems(self) -> None:
        training = _training()
        for problem, best in zip(TUNED, training.best_of_problem()):
            self.assertEqual(DecisionTree(training).choose(problem), best)
        self.assertGreater(_worst(RegretTree(training)), 0.8)

    def test_the_plain_wave_model_recovers_what_it_describes(self) -> None:
        self.assertGreater(_worst(PlainWave(_training())), 0.95)

    def test_the_plain_wave_model_chooses_nothing_illegal(self) -> None:
        chosen = PlainWave(_training()).choose(Problem((64, 640, 65)))
        self.assertEqual(chosen, 0)

    @mock.patch.dict(boosted._SETTINGS, n_jobs=1)
    def test_boosted_trees_learn_and_choose_nothing_illegal(self) -> None:
        trees = BoostedTrees(_training())
        self.assertGreater(_worst(trees), 0.8)
        self.assertEqual(trees.choose(Problem((64, 640, 65))), 0)

    def test_a_short_list_is_measured(self) -> None:
        part = synthetic.part([], JUDGED)
        selector = MeasureBest(part, lambda _: [0, 1])
        self.assertEqual(selector.choose(JUDGED[0]), 1)
        self.assertEqual(selector.measured(JUDGED[0]), 2)
        self.assertAlmostEqual(
            selector.measuring_us(JUDGED[0]),
            synthetic.latency_us(JUDGED[0], 0) + synthetic.latency_us(JUDGED[0], 1),
        )


class MatmulHeuristicsTest(unittest.TestCase):
    """The mapping alone: the package may not be installed."""

    def setUp(self) -> None:
        self.nearest = NearestCandidate(synthetic.part([], JUDGED))
        self.every = np.ones(5, dtype=bool)

    def _of(self, m: float, stages: float) -> int:
        suggestion = {"m": m, "n": 128, "k": 64, "stages": stages, "split": 1}
        return self.nearest.of(suggestion, self.every)

    def test_the_nearest_tile_wins_then_the_stages(self) -> None:
        # VECTOR is 1 by default, and no suggestion speaks of it.
        self.assertEqual(self._of(16, 4), 0)
        self.every[0] = False
        self.assertEqual(self._of(16, 4), 4)
        self.assertEqual(self._of(16, 2), 3)
        self.assertEqual(self._of(128, 7), 2)

    def test_applies_to_kernels_with_the_usual_names(self) -> None:
        self.assertTrue(applies_to(synthetic.kernel()))


if __name__ == "__main__":
    unittest.main()
