"""Activation functions."""

import triton
import triton.language as tl


@triton.jit
def gelu_of(value):
    """The approximation by tanh(z) = 1 - 2 / (exp(2 z) + 1)."""
    z = 0.7978845608 * (value + 0.044715 * value * value * value)
    return 0.5 * value * (2.0 - 2.0 / (tl.exp(2.0 * z) + 1.0))
