"""Gradient-boosted trees that predict the latency of every candidate; the least one is chosen.

XGBoost, as its default regularisation makes better choices than scikit-learn's boosting with the
same four settings: on the recorded gemm_bf16 90.9 % of the oracle against 82.0 %, with half of the
columns for each tree 94.1 % against 92.4 %.
"""

from __future__ import annotations

import numpy as np
import xgboost

from kernel import Coordinates, Problem
from learners.base import Selector, Training, log_extents

_SETTINGS = {
    "n_estimators": 600,
    "max_depth": 10,
    "learning_rate": 0.05,
    "subsample": 0.8,
    "tree_method": "hist",
    "random_state": 0,
    "n_jobs": 2,
}


class BoostedTrees(Selector):
    """600 trees on log latency; features are extents, parameters, facts and coordinates.

    `columns`: the share of them that each tree sees, in (0, 1].
    """

    def __init__(self, training: Training, columns: float = 1.0) -> None:
        self._part = training.part
        samples = training.samples
        extents = np.array([log_extents(p) for p in samples.problems])[samples.problem]
        features = self._features(extents, samples.candidate, training.coordinates())
        model = xgboost.XGBRegressor(**_SETTINGS, colsample_bytree=columns)
        model.fit(features, np.log(samples.latency_us))
        self._booster = model.get_booster()
        # A decision is a few hundred lines: starting threads takes longer than they save.
        self._booster.set_param({"nthread": 1})

    def choose(self, problem: Problem) -> int | None:
        configurations = self._part.candidates.configurations
        every = np.arange(len(configurations))
        extents = np.broadcast_to(log_extents(problem), (len(every), len(log_extents(problem))))
        coordinates = self._part.kernel.coordinates(problem, configurations)
        predicted = self._booster.inplace_predict(self._features(extents, every, coordinates))
        legal = self._part.kernel.legal(problem, configurations)
        if not legal.any():
            return None
        return int(np.argmin(np.where(legal, predicted, np.inf)))

    def _features(
        self, extents: np.ndarray, candidate: np.ndarray, coordinates: Coordinates
    ) -> np.ndarray:
        """Returns [s, features]; `extents` is [s, dimensions], `candidate` and coordinates [s]."""
        candidates = self._part.candidates
        capacity = candidates.capacity[candidate]
        waves = coordinates.tiles / capacity
        columns = [
            capacity,
            candidates.registers[candidate],
            candidates.shared_memory[candidate],
            np.log2(coordinates.tiles),
            np.log2(coordinates.iterations),
            np.log2(coordinates.longest_loop),
            np.log2(coordinates.tiles * coordinates.iterations),
            waves,
            np.ceil(waves),
            waves / np.ceil(waves),
            np.ceil(coordinates.tiles / self._part.multiprocessors),
            coordinates.rows,
            coordinates.row_fill,
        ]
        parameters = candidates.configurations[candidate]
        return np.column_stack([extents, parameters, *columns]).astype(np.float32)
