import tempfile
import unittest
from pathlib import Path

import numpy as np

import decisions
import synthetic
import textproto
from judging import Judgement
from kernel import Kernel, Problem
from report import Row
from traces import Candidates, SampleSet, Trace, TracePart, read_choices

SPECIALISED = """
name: "experts"
dimensions { name: "m" repeated: true }
dimensions { name: "n" }
parameters { name: "BLOCK" role: MACRO values: [1, 2] }
specialisations { name: "forward" }
specialisations { name: "reverse" }
mapping { tiles: "n" }
default_configuration { key: "BLOCK" value: 1 }
"""


def _judgement(problem: Problem, chosen: int) -> Judgement:
    return Judgement(problem, chosen, 1.0, False, False, 1.0)


def _row(name: str, learned_from: str, judgements: list[Judgement]) -> Row:
    return Row(name, "", learned_from, judgements, 0, 5, None, {})


def _gemm() -> Trace:
    part = synthetic.part([], synthetic.problems([8, 48], [(640, 256)]))
    return Trace(part.kernel, "a GPU", [part])


class DecisionsTest(unittest.TestCase):
    def test_what_was_chosen_is_spelled_out_in_the_order_of_the_problems(self) -> None:
        judgements = [
            _judgement(Problem((48, 640, 256)), 3),
            _judgement(Problem((8, 640, 256)), 0),
        ]
        self.assertEqual(
            decisions.text(_gemm(), judgements),
            "m,n,k,BLOCK_M,BLOCK_N,BLOCK_K,VECTOR,STAGES\n"
            "8,640,256,64,64,64,1,2\n"
            "48,640,256,16,64,64,8,2\n",
        )

    def test_specialisations_and_repeated_extents_have_their_cells(self) -> None:
        kernel = Kernel(textproto.parse(SPECIALISED))
        listed = Candidates(np.array([[1], [2]]), np.ones(2), np.ones(2), np.ones(2))
        none = SampleSet([], np.zeros(0, int), np.zeros(0, int), np.zeros(0))
        parts = [
            TracePart(kernel, name, 10, listed, none, none, none) for name in ("forward", "reverse")
        ]
        judgements = [
            _judgement(Problem((0, 5), (7, 9), "reverse"), 1),
            _judgement(Problem((0, 6), (1, 2), "forward"), 0),
        ]
        self.assertEqual(
            decisions.text(Trace(kernel, "", parts), judgements),
            "specialisation,m,n,BLOCK\nreverse,7 9,5,2\nforward,1 2,6,1\n",
        )

    def test_every_row_has_a_file_that_is_read_back(self) -> None:
        trace = _gemm()
        problem = Problem((8, 640, 256))
        rows = [
            _row("nearest tuned M", "representative", [_judgement(problem, 1)]),
            _row("nearest tuned M", "other half", [_judgement(problem, 2)]),
            _row("nvMatmulHeuristics, best of 8 measured", "nothing", [_judgement(problem, 4)]),
        ]
        with tempfile.TemporaryDirectory() as folder:
            paths = decisions.write(Path(folder) / "new" / "folder", trace, rows)
            self.assertEqual(
                [path.name for path in paths],
                [
                    "nearest_tuned_m.representative.csv",
                    "nearest_tuned_m.other_half.csv",
                    "nvmatmulheuristics_best_of_8_measured.nothing.csv",
                ],
            )
            for path, chosen in zip(paths, (1, 2, 4)):
                self.assertEqual(
                    read_choices(trace.kernel, trace.parts[0], path), {problem: chosen}
                )


if __name__ == "__main__":
    unittest.main()
