"""gpu_gelu: y[r, c] = GELU(x[r, c] + bias[c]), bf16, dense, row major, computed in float.

A program computes BLOCK_R rows of BLOCK_C columns; programs are numbered along a row first. Rows
and columns that are not there are masked.
"""

import triton
import triton.language as tl


# How many rows there are changes from launch to launch and decides nothing that is compiled.
@triton.jit(do_not_specialize=["rows"])
def gpu_gelu(x, bias, y, rows, columns, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    blocks_c = tl.cdiv(columns, BLOCK_C)
    r = tl.program_id(0) // blocks_c * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    c = tl.program_id(0) % blocks_c * BLOCK_C + tl.arange(0, BLOCK_C)[None, :]
    inside = (r < rows) & (c < columns)
    at = r.to(tl.int64) * columns + c
    v = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    v += tl.load(bias + c, mask=c < columns, other=0.0).to(tl.float32)
    # v times a half of 1 + tanh(z), which is 1 - 1 / (exp(2 z) + 1).
    z = 0.7978845608 * (v + 0.044715 * v * v * v)
    tl.store(y + at, (v * (1.0 - 1.0 / (tl.exp(2.0 * z) + 1.0))).to(tl.bfloat16), mask=inside)
