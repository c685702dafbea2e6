"""gpu_conv2d: y[b, f, h, w] = sum of x[b, c, h * STRIDE + i, w * STRIDE + j] * w[f, c, i, j], bf16.

No padding; the image is as large as outputs and filters make it. As a matrix product: rows are the
pixels of all images, columns the filters, and the sum runs over channels and places of the filter.
A program computes a tile of BLOCK_P pixels and BLOCK_F filters, in steps of BLOCK_K; programs are
numbered along the pixels first.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["batch"])
def gpu_conv2d(
    x,
    w,
    y,
    batch,
    channels,
    filters,
    out_h,
    out_w,
    kernel_h,
    kernel_w,
    STRIDE: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_F: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    image_h = (out_h - 1) * STRIDE + kernel_h
    image_w = (out_w - 1) * STRIDE + kernel_w
    pixels = batch * out_h * out_w
    tiles_p = tl.cdiv(pixels, BLOCK_P)
    p = tl.program_id(0) % tiles_p * BLOCK_P + tl.arange(0, BLOCK_P)
    f = tl.program_id(0) // tiles_p * BLOCK_F + tl.arange(0, BLOCK_F)
    image = (p // (out_h * out_w)).to(tl.int64)
    h = p // out_w % out_h
    v = p % out_w
    # Where a pixel's patch begins in its image.
    corner = image * channels * image_h * image_w + h * STRIDE * image_w + v * STRIDE
    places = kernel_h * kernel_w
    depth = channels * places
    sums = tl.zeros((BLOCK_P, BLOCK_F), dtype=tl.float32)
    for first in range(0, depth, BLOCK_K):
        at = first + tl.arange(0, BLOCK_K)
        inner = at // places * image_h * image_w + at % places // kernel_w * image_w + at % kernel_w
        x_mask = (p < pixels)[:, None] & (at < depth)[None, :]
        x_tile = tl.load(x + corner[:, None] + inner[None, :], mask=x_mask, other=0.0)
        w_mask = (f < filters)[None, :] & (at < depth)[:, None]
        w_tile = tl.load(w + f[None, :] * depth + at[:, None], mask=w_mask, other=0.0)
        sums = tl.dot(x_tile, w_tile, sums)
    y_at = (image * filters)[:, None] + f[None, :]
    y_at = y_at * (out_h * out_w) + (h * out_w + v)[:, None]
    inside = (p < pixels)[:, None] & (f < filters)[None, :]
    tl.store(y + y_at, sums.to(tl.bfloat16), mask=inside)
