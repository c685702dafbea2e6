"""gpu_rms_norm: y[r, c] = x[r, c] * w[c] / sqrt(mean of x[r, :]^2 + epsilon), bf16, row major.

A program computes BLOCK_R rows side by side, in float. Each row is read twice, in steps of BLOCK_H
columns: for the sum of its squares, then to be scaled. Rows and columns that are not there are
masked.
"""

import triton
import triton.language as tl


# How many rows there are changes from launch to launch and decides nothing that is compiled.
@triton.jit(do_not_specialize=["rows"])
def gpu_rms_norm(x, w, y, rows, hidden, epsilon, BLOCK_R: tl.constexpr, BLOCK_H: tl.constexpr):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    steps = tl.arange(0, BLOCK_H)[None, :]
    begin = r.to(tl.int64) * hidden
    squares = tl.zeros((BLOCK_R, BLOCK_H), dtype=tl.float32)
    for first in range(0, hidden, BLOCK_H):
        c = first + steps
        v = tl.load(x + begin + c, mask=(r < rows) & (c < hidden), other=0.0).to(tl.float32)
        squares += v * v
    factor = tl.rsqrt(tl.sum(squares, axis=1) / hidden + epsilon)[:, None]
    for first in range(0, hidden, BLOCK_H):
        c = first + steps
        inside = (r < rows) & (c < hidden)
        v = tl.load(x + begin + c, mask=inside, other=0.0).to(tl.float32)
        v *= factor * tl.load(w + c, mask=c < hidden, other=0.0).to(tl.float32)
        tl.store(y + begin + c, v.to(tl.bfloat16), mask=inside)
