import gzip
import tempfile
import unittest
from pathlib import Path

import numpy as np

import synthetic
from kernel import Problem
from traces import TraceError, concatenate, read_choices, read_samples, read_trace

SPECIALISED = """
name: "scan"
dimensions { name: "n" }
parameters { name: "BLOCK" role: MACRO values: [1, 2] }
specialisations { name: "forward" defines { key: "REVERSE" value: "0" } }
specialisations { name: "reverse" defines { key: "REVERSE" value: "1" } }
mapping { tiles: "n" }
default_configuration { key: "BLOCK" value: 1 }
"""


class TracesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("device.textproto", 'label: "NVIDIA H200" multiprocessors: 10')

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text, encoding="utf-8")
        return path

    def write_listed(self) -> None:
        self.write("manifest.textproto", synthetic.MANIFEST)
        self.write(
            "candidates.csv",
            "candidate,BLOCK_M,BLOCK_N,BLOCK_K,VECTOR,STAGES,capacity,blocks_per_sm,excluded\n"
            "0,64,64,64,1,2,20,3,\n"
            "1,64,64,64,8,2,0,0,does not compile\n"
            "2,16,64,64,8,4,,4,\n",
        )
        self.write("anchors.csv.gz", "candidate,M,N,K,latency_us\n0,1,2,8,5\n2,1,2,8,6\n")
        self.write(
            "exhaustive.csv.gz",
            "candidate,m,n,k,latency_us\n0,9,9,8,4\n0,9,9,8,3\n2,9,9,8,7\n0,5,5,5,1\n",
        )

    def test_listed_candidates_keep_their_meaning(self) -> None:
        self.write_listed()
        trace = read_trace(self.folder)
        (part,) = trace.parts
        self.assertEqual(trace.label, "NVIDIA H200")
        self.assertEqual(part.candidates.configurations[1].tolist(), [16, 64, 64, 8, 4])
        self.assertEqual(part.candidates.capacity.tolist(), [20, 40])
        self.assertEqual(part.anchors.candidate.tolist(), [0, 1])
        self.assertEqual(part.judged.problems, [Problem((9, 9, 8)), Problem((5, 5, 5))])
        np.testing.assert_array_equal(part.judged.matrix(2), [[3, 7], [1, np.nan]])
        self.assertEqual(len(part.representative), 0)

    def test_lines_may_spell_out_candidates_and_specialisations(self) -> None:
        self.write("manifest.textproto", SPECIALISED)
        self.write(
            "anchors.csv",
            "REVERSE,block,blocks_per_sm,n,latency_us_median\n0,1,1,4,1\n1,1,2,4,2\n1,2,3,4,3\n",
        )
        self.write("exhaustive.csv", "reverse,BLOCK,n,latency_us\n1,2,8,5\n0,1,8,6\n")
        forward, reverse = read_trace(self.folder).parts
        self.assertEqual(len(forward.candidates), 1)
        self.assertEqual(reverse.candidates.capacity.tolist(), [20, 30])
        self.assertEqual(reverse.judged.problems, [Problem((8,), (), "reverse")])
        self.assertEqual(reverse.judged.latency_us.tolist(), [5])

    def test_what_the_cli_wrote_is_read_back(self) -> None:
        self.write_listed()
        trace = read_trace(self.folder)
        samples = self.write(
            "samples.csv",
            "m,n,k,BLOCK_M,BLOCK_N,BLOCK_K,VECTOR,STAGES,latency_us,latency_us_min\n"
            "1,2,8,16,64,64,8,4,6,6\n",
        )
        decisions = self.write(
            "decisions.csv",
            "m,n,k,BLOCK_M,BLOCK_N,BLOCK_K,VECTOR,STAGES,source\n9,9,8,64,64,64,1,2,FITTED\n",
        )
        found = read_samples(trace.kernel, trace.parts[0], samples)
        self.assertEqual(found.candidate.tolist(), [1])
        choices = read_choices(trace.kernel, trace.parts[0], decisions)
        self.assertEqual(choices, {Problem((9, 9, 8)): 0})

    def test_an_unknown_candidate_is_refused(self) -> None:
        self.write_listed()
        trace = read_trace(self.folder)
        samples = self.write(
            "samples.csv",
            "m,n,k,BLOCK_M,BLOCK_N,BLOCK_K,VECTOR,STAGES,latency_us\n1,2,8,1,2,3,4,5,6\n",
        )
        with self.assertRaisesRegex(TraceError, "no candidate"):
            read_samples(trace.kernel, trace.parts[0], samples)

    def test_a_missing_file_is_named(self) -> None:
        self.write_listed()
        (self.folder / "anchors.csv.gz").unlink()
        with self.assertRaisesRegex(TraceError, "anchors"):
            read_trace(self.folder)

    def test_sets_are_cut_and_joined_by_problem(self) -> None:
        first = synthetic.samples(synthetic.problems([1, 2, 3], [(64, 64)]))
        second = synthetic.samples(synthetic.problems([3, 4], [(64, 64)]))
        joined = concatenate([first, second])
        self.assertEqual(len(joined.problems), 4)
        self.assertEqual(len(joined), len(first) + len(second))
        cut = joined.at(np.array([False, False, True, True]))
        self.assertEqual([p.extents[0] for p in cut.problems], [3, 4])
        np.testing.assert_array_equal(cut.matrix(5), second.matrix(5))


if __name__ == "__main__":
    unittest.main()
