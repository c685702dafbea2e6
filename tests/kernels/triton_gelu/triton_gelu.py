"""triton_gelu: y[r, c] = GELU(x[r, c] + bias[c]), float32, dense, row major.

A program computes BLOCK_R rows of BLOCK_C columns; programs are numbered along columns first.
"""

import triton
import triton.language as tl
from activation import gelu_of


@triton.jit
def gelu(x, bias, y, rows, columns, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    blocks_c = tl.cdiv(columns, BLOCK_C)
    r = tl.program_id(0) // blocks_c * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    c = tl.program_id(0) % blocks_c * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]
    inside = (r < rows) & (c < columns)
    at = r.to(tl.int64) * columns + c
    value = tl.load(x + at, mask=inside, other=0.0) + tl.load(bias + c, mask=c < columns, other=0.0)
    tl.store(y + at, gelu_of(value), mask=inside)
