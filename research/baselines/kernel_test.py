import unittest

import numpy as np

import synthetic
import textproto
from kernel import Kernel, Problem

ATTENTION = """
name: "attention"
dimensions { name: "heads" }
dimensions { name: "seq_q" }
dimensions { name: "seq_kv" }
parameters { name: "BLOCK_Q" role: MACRO values: 64 }
parameters { name: "BLOCK_KV" role: MACRO values: 32 }
specialisations {
  name: "causal"
  defines { key: "CAUSAL" value: "1" }
  mapping {
    tiles: "heads * ceil_div(seq_q, BLOCK_Q)"
    total_iterations: "heads * causal_blocks(seq_q, seq_kv, BLOCK_Q, BLOCK_KV)"
    longest_loop: "ceil_div(seq_kv, BLOCK_KV)"
  }
}
mapping { tiles: "1" }
default_configuration { key: "BLOCK_Q" value: 64 }
default_configuration { key: "BLOCK_KV" value: 32 }
"""

GROUPED = """
name: "grouped"
dimensions { name: "group_rows" repeated: true }
dimensions { name: "n" }
parameters { name: "BLOCK_M" role: MACRO values: 16 }
mapping {
  tiles: "sum_over(group_rows, ceil_div(group_rows, BLOCK_M) * n)"
  iterations_per_tile: "3"
  rows: "ceil_div(group_rows, BLOCK_M)"
}
default_configuration { key: "BLOCK_M" value: 16 }
"""


class KernelTest(unittest.TestCase):
    def test_a_gemm_is_mapped_as_its_manifest_says(self) -> None:
        kernel = synthetic.kernel()
        configurations = synthetic.candidates().configurations
        found = kernel.coordinates(Problem((100, 130, 65)), configurations)
        self.assertEqual(found.tiles.tolist(), [6, 6, 6, 21, 21])
        self.assertEqual(found.iterations.tolist(), [2.0] * 5)
        self.assertEqual(found.longest_loop.tolist(), [2] * 5)
        self.assertEqual(found.rows.tolist(), [2, 2, 2, 7, 7])
        np.testing.assert_allclose(found.row_fill, [36 / 64] * 3 + [4 / 16] * 2)

    def test_predicates_say_what_is_legal(self) -> None:
        kernel = synthetic.kernel()
        configurations = synthetic.candidates().configurations
        legal = kernel.legal(Problem((1, 64, 65)), configurations)
        self.assertEqual(legal.tolist(), [True, False, False, False, False])
        self.assertTrue(kernel.legal(Problem((1, 64, 64)), configurations).all())

    def test_names_roles_and_default_are_read(self) -> None:
        kernel = synthetic.kernel()
        self.assertEqual(kernel.dimensions, ["m", "n", "k"])
        self.assertEqual(kernel.macro, [True, True, True, True, False])
        self.assertEqual(kernel.default, (64, 64, 64, 1, 2))
        self.assertEqual(kernel.widths(Problem((7, 8, 9))), (8, 9))

    def test_causal_blocks_are_counted_tile_by_tile(self) -> None:
        kernel = Kernel(textproto.parse(ATTENTION))
        for seq_q, seq_kv in ((1, 100), (64, 64), (200, 200), (100, 1000), (130, 70)):
            wanted = 0
            for tile in range(-(-seq_q // 64)):
                visible = seq_kv - seq_q + min((tile + 1) * 64, seq_q)
                wanted += -(-min(max(visible, 1), seq_kv) // 32)
            problem = Problem((4, seq_q, seq_kv), (), "causal")
            found = kernel.coordinates(problem, np.array([[64, 32]]))
            tiles = 4 * -(-seq_q // 64)
            self.assertEqual(found.tiles[0], tiles)
            self.assertAlmostEqual(found.iterations[0], 4 * wanted / tiles)
            self.assertEqual(found.longest_loop[0], -(-seq_kv // 32))

    def test_experts_are_summed_and_empty_ones_have_no_rows(self) -> None:
        kernel = Kernel(textproto.parse(GROUPED))
        found = kernel.coordinates(Problem((0, 2), (20, 0, 8)), np.array([[16]]))
        self.assertEqual(found.tiles[0], 2 * (2 + 0 + 1))
        self.assertEqual(found.rows[0], 3)
        self.assertAlmostEqual(found.row_fill[0], (4 / 16 + 8 / 16) / 2)


if __name__ == "__main__":
    unittest.main()
