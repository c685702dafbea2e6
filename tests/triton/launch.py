"""Launches the kernels' Triton functions in Triton's interpreter on numpy arrays: no GPU, no torch.

The interpreter asks its tensor arguments for a few of torch's methods; `Buffer` has these.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"  # Read where a function is decorated.

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

ROOT = Path(__file__).resolve().parents[2]


def load(kernel: str, folder: str = "kernels") -> ModuleType:
    """Returns the Python source of a kernel of this repository as a module."""
    path = ROOT / folder / kernel / f"{kernel}.py"
    spec = importlib.util.spec_from_file_location(f"{kernel}_interpreted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def to_bf16(values: np.ndarray) -> np.ndarray:
    """Returns the bits of `values` rounded to bfloat16, ties to even: uint16, of the same shape."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """Returns float32 values of bfloat16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _mend_interpreter() -> None:
    """Lets Triton 3.6's interpreter multiply bfloat16, whose bits it would multiply, round to it as
    GPUs do, where it would cut, and count with numpy 2.4 and newer, which converts no array of one
    element to a number.
    """
    cast_impl = interpreter.InterpreterBuilder.cast_impl
    create_dot = interpreter.InterpreterBuilder.create_dot
    patch_tensor = interpreter._patch_lang_tensor

    def as_float(operand: interpreter.TensorHandle) -> interpreter.TensorHandle:
        if operand.dtype.scalar != tl.bfloat16:
            return operand
        return interpreter.TensorHandle(from_bf16(operand.data), tl.float32)

    def cast(self, source, target):
        if source.dtype.scalar == tl.float32 and target.scalar == tl.bfloat16:
            return interpreter.TensorHandle(to_bf16(source.data), tl.bfloat16)
        return cast_impl(self, source, target)

    def dot(self, a, b, *rest):
        return create_dot(self, as_float(a), as_float(b), *rest)

    def patched(tensor, *rest):
        patch_tensor(tensor, *rest)
        tensor.__index__ = lambda self: self.handle.data.item()

    interpreter.InterpreterBuilder.cast_impl = cast
    interpreter.InterpreterBuilder.create_dot = dot
    interpreter._patch_lang_tensor = patched


_mend_interpreter()


class _Storage:
    """What torch's untyped storage is to the interpreter: memory with an address."""

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory

    def data_ptr(self) -> int:
        return self.memory.ctypes.data

    def cpu(self) -> _Storage:
        return self

    def copy_(self, other: _Storage) -> None:
        assert other.memory is self.memory


class _Type(str):
    """The name of an element type, of which descriptors ask the size."""

    @property
    def itemsize(self) -> int:
        return np.dtype(Buffer.TYPES[self]).itemsize


class Buffer:
    """A numpy array as an argument of a kernel; a guard of poison lies before and behind it.

    `dtype` is the element type as Triton names it: "fp32", "bf16" (uint16 bits in the array) or
    "i32".
    """

    GUARD = 4096  # Bytes.
    TYPES = {"fp32": np.float32, "bf16": np.uint16, "i32": np.int32}

    def __init__(self, array: np.ndarray, dtype: str) -> None:
        assert array.dtype == self.TYPES[dtype]
        self.dtype = _Type(dtype)
        self._shape = array.shape
        self._bytes = array.nbytes
        memory = np.full(array.nbytes + 2 * self.GUARD, 0xFF, dtype=np.uint8)
        memory[self.GUARD : self.GUARD + array.nbytes] = (
            np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        )
        self._storage = _Storage(memory)

    @classmethod
    def poison(cls, shape: tuple[int, ...], dtype: str) -> Buffer:
        """Returns a buffer of NaN, or of numbers that no index is."""
        bits = np.full(
            int(np.prod(shape)) * np.dtype(cls.TYPES[dtype]).itemsize, 0xFF, dtype=np.uint8
        )
        return cls(bits.view(cls.TYPES[dtype]).reshape(shape), dtype)

    def array(self) -> np.ndarray:
        """Returns what the buffer holds, of the shape and type that it was made of."""
        inside = self._storage.memory[self.GUARD : self.GUARD + self._bytes]
        return inside.view(self.TYPES[self.dtype]).reshape(self._shape)

    def check_guards(self) -> None:
        """Fails where something was written beside the array."""
        assert (self._storage.memory[: self.GUARD] == 0xFF).all(), "written before the buffer"
        assert (self._storage.memory[self.GUARD + self._bytes :] == 0xFF).all(), (
            "written behind the buffer"
        )

    # What the interpreter asks for.

    def data_ptr(self) -> int:
        return self._storage.data_ptr() + self.GUARD

    def untyped_storage(self) -> _Storage:
        return self._storage

    def new_empty(self, _size: int, device: str) -> Buffer:
        assert device == "cpu"
        return Buffer(np.empty(0, dtype=self.TYPES[self.dtype]), self.dtype)

    def set_(self, storage: _Storage, _offset: int, _size: Any, _stride: Any) -> None:
        self._storage = storage

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        return self._shape

    def stride(self) -> tuple[int, ...]:
        return ()


def launch(function: Any, blocks: int, arguments: list[Any], constants: dict[str, int]) -> None:
    """Runs `blocks` blocks one after the other, and checks what lies beside each buffer."""
    function[(blocks,)](*arguments, **constants)
    for argument in arguments:
        if isinstance(argument, Buffer):
            argument.check_guards()


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Returns ‖found − expected‖₂ / ‖expected‖₂; fails where `found` is not finite."""
    assert np.isfinite(found).all()
    scale = np.linalg.norm(expected)
    return float(np.linalg.norm(found - expected) / (scale if scale > 0 else 1))
