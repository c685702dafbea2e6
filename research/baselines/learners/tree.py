"""Decision trees from a problem's extents to a configuration."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from kernel import Problem
from learners.base import Selector, Training, log_extents


class DecisionTree(Selector):
    """A classifier, grown until its leaves are pure, trained on the winners at tuned problems."""

    def __init__(self, training: Training) -> None:
        features = np.array([log_extents(p) for p in training.samples.problems])
        self._tree = DecisionTreeClassifier(random_state=0)
        with warnings.catch_warnings():
            # "The number of unique classes is greater than 50% of the number of samples": so it
            # is, with hundreds of configurations.
            warnings.simplefilter("ignore", UserWarning)
            self._tree.fit(features, training.best_of_problem())

    def choose(self, problem: Problem) -> int | None:
        return int(self._tree.predict([log_extents(problem)])[0])


class RegretTree(Selector):
    """A tree whose leaves know the mean log regret of every configuration, not the winner alone.

    Why: winners are decided by noise among near ties, so that a classifier learns names; the
    regret says that a near tie is as good. Not among the published baselines, but the better tree.
    """

    def __init__(self, training: Training, least_in_leaf: int = 3) -> None:
        latencies = training.samples.matrix(len(training.part.candidates))
        regret = np.log(latencies / np.nanmin(latencies, axis=1, keepdims=True))
        # What cannot run a problem counts as ten times slower there.
        regret = np.where(np.isnan(regret), np.log(10.0), regret)
        features = np.array([log_extents(p) for p in training.samples.problems])
        self._tree = DecisionTreeRegressor(min_samples_leaf=least_in_leaf, random_state=0)
        self._tree.fit(features, np.minimum(regret, np.log(10.0)))

    def choose(self, problem: Problem) -> int | None:
        return int(np.argmin(self._tree.predict([log_extents(problem)])[0]))
