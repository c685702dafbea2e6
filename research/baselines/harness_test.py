import dataclasses
import unittest
from unittest import mock

import harness
import methods
import synthetic
from learners import boosted
from methods import Case, Method
from report import Row

WIDTHS = [(640, 256), (640, 2048), (6400, 512), (6400, 4096)]


def _case(recorded: bool = True) -> Case:
    tuned = synthetic.problems([1, 16, 64, 256, 1024], WIDTHS)
    judged = synthetic.problems([8, 48, 200, 700], [(1280, 512), (3200, 1536)])
    part = synthetic.part(tuned if recorded else [], judged)
    return Case(part, synthetic.samples(tuned), {"WaveTune": {problem: 0 for problem in judged}})


def _rows(case: Case, every_sample: bool = False) -> tuple[list[Row], list[str]]:
    options = methods.Options(planned=True, every_sample=every_sample)
    compared, notes = methods.methods([case], options)
    return [harness.judge_method(method, [case], 0.2) for method in compared], notes


# 600 trees on two threads take a minute where other work keeps the cores busy.
@mock.patch.dict(boosted._SETTINGS, n_estimators=10, n_jobs=1)
class HarnessTest(unittest.TestCase):
    def test_every_method_is_judged_at_every_problem(self) -> None:
        rows, notes = _rows(_case(), every_sample=True)
        for row in rows:
            self.assertEqual(row.overall.problems, 8, row.name)
        self.assertEqual(rows[-1].name, "exhaustive (oracle)")
        self.assertEqual(rows[-1].overall.worst, 1.0)
        self.assertEqual(len([row for row in rows if row.learned_from == "all samples"]), 1)
        self.assertIn("nvMatmulHeuristics", notes[0])

    def test_samples_are_what_was_learned_from(self) -> None:
        case = _case()
        samples = {(row.name, row.learned_from): row.samples for row in _rows(case)[0]}
        self.assertEqual(samples["default configuration", "nothing"], 0)
        self.assertEqual(samples["WaveTune", "planned samples"], len(case.samples))
        self.assertEqual(samples["nearest tuned M", "representative"], 100)
        self.assertEqual(samples["nearest tuned M", "other half"], 20)
        self.assertEqual(samples["exhaustive (oracle)", "at the problem"], 40)

    def test_without_representative_problems_half_of_the_judged_ones_are_tuned(self) -> None:
        words = {row.learned_from for row in _rows(_case(recorded=False))[0]}
        self.assertNotIn("representative", words)
        self.assertIn("other half", words)

    def test_ours_is_looked_up_and_timed_elsewhere(self) -> None:
        (ours,) = (row for row in _rows(_case())[0] if row.name == "WaveTune")
        self.assertEqual({judgement.chosen for judgement in ours.judgements}, {0})
        self.assertEqual(ours.decision_us, 0.2)

    def test_tables_of_several_sizes_have_a_row_each(self) -> None:
        case = _case()
        ones = {problem: 1 for problem in case.choices["WaveTune"]}
        both = dataclasses.replace(case, choices={"zeros": case.choices["WaveTune"], "ones": ones})
        ours = {row.name: row for row in _rows(both)[0] if row.name in both.choices}
        chosen = {name: {j.chosen for j in row.judgements} for name, row in ours.items()}
        self.assertEqual(chosen, {"zeros": {0}, "ones": {1}})

    def test_of_several_variants_the_best_is_shown(self) -> None:
        case = _case()
        compared, _ = methods.methods([case], methods.Options(planned=True))
        oracle, default = compared[-1], compared[0]
        both = Method("both", "", {"bad": default.variants[""], "good": oracle.variants[""]})
        row = harness.judge_method(both, [case], None)
        self.assertEqual(row.variant, "good")
        self.assertLess(row.others["bad"].geomean, 1.0)


if __name__ == "__main__":
    unittest.main()
