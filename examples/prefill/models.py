"""What a forward pass of some models launches: dimensions as their config.json publish them, problems by launch.

Pure: no torch, no triton.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Model:
    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int  # Of one expert where there are experts.
    vocabulary: int
    experts: int = 0
    top_k: int = 0

    @property
    def qkv(self) -> int:
        """Columns of the projection that makes queries, keys and values."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    def layer_bytes(self) -> int:
        """Bytes of one layer's weights in bf16."""
        attention = self.hidden * (self.qkv + self.heads * self.head_dim)
        experts = max(self.experts, 1) * 3 * self.hidden * self.intermediate
        return 2 * (attention + experts + self.experts * self.hidden + 2 * self.hidden)


MODELS = {
    model.name: model
    for model in [
        Model("qwen3-30b-a3b", 48, 2048, 32, 4, 128, 768, 151936, experts=128, top_k=8),
        Model("llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256),
        # Of these the experts' layers are compared, for which engines ship no file.
        Model("glm-4.5-air", 45, 4096, 96, 8, 128, 1408, 151552, experts=128, top_k=8),
        Model("gpt-oss-20b", 24, 2880, 64, 8, 64, 2880, 201088, experts=32, top_k=4),
        Model("olmoe-1b-7b", 16, 2048, 16, 16, 128, 1024, 50304, experts=64, top_k=8),
        Model("mixtral-8x7b-tp2", 32, 4096, 16, 4, 128, 7168, 16000, experts=8, top_k=2),
        # For a CPU and Triton's interpreter.
        Model("tiny-moe", 2, 64, 4, 2, 64, 32, 96, experts=8, top_k=2),
        Model("tiny-dense", 2, 64, 4, 2, 64, 96, 96),
    ]
}

TOKENS = (512, 700, 1024, 1500, 2048, 3000, 4096, 5000, 8192, 16384)
BATCHES = (1, 4)


@dataclass(frozen=True)
class Launch:
    """One launch of a tuned kernel, as a table knows its problem."""

    name: str  # Within a layer: qkv, attention, o, gate_up, down; head after the layers.
    kernel: str
    specialisation: str
    dims: tuple[tuple[str, Any], ...]  # Extents by dimension; tokens of experts as a tuple.
    times: int  # In one pass.
    tokens: int  # That enter the layer: what nearest-M files go by.

    @property
    def problem(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.dims}

    @property
    def key(self) -> str:
        """The same for launches of the same problem."""
        parts = [f"{name}={sum(value) if isinstance(value, tuple) else value}" for name, value in self.dims]
        return f"{self.kernel}/{self.specialisation or '-'} {' '.join(parts)}"


def balanced(slots: int, experts: int) -> tuple[int, ...]:
    """Slots of each expert with balanced routing: they differ by at most one, the larger first."""
    each, more = divmod(slots, experts)
    return (each + 1,) * more + (each,) * (experts - more)


def launches(model: Model, tokens: int, batch: int, phase: str) -> list[Launch]:
    """Returns the tuned launches of one pass: `prefill` of `batch` prompts of `tokens`, or `decode` of one more each."""
    if phase not in ("prefill", "decode"):
        raise ValueError(f"phase is {phase!r}; there are prefill and decode")
    rows = batch * tokens if phase == "prefill" else batch
    attention = _attention(model, tokens, batch, phase)
    own = [
        _gemm("qkv", rows, model.qkv, model.hidden, model.layers),
        Launch("attention", "triton_attention", attention[0], attention[1], model.layers, rows),
        _gemm("o", rows, model.hidden, model.heads * model.head_dim, model.layers),
    ]
    if model.experts:
        slots = balanced(rows * model.top_k, model.experts)
        own += [
            _moe("gate_up", slots, 2 * model.intermediate, model.hidden, model, rows),
            _moe("down", slots, model.hidden, model.intermediate, model, rows),
        ]
    else:
        own += [
            _gemm("gate_up", rows, 2 * model.intermediate, model.hidden, model.layers),
            _gemm("down", rows, model.hidden, model.intermediate, model.layers),
        ]
    # Only the last token of each prompt is decoded.
    return [*own, _gemm("head", batch, model.vocabulary, model.hidden, 1)]


def _gemm(name: str, m: int, n: int, k: int, times: int) -> Launch:
    return Launch(name, "triton_gemm", "", (("m", m), ("n", n), ("k", k)), times, m)


def _moe(name: str, slots: tuple[int, ...], n: int, k: int, model: Model, rows: int) -> Launch:
    dims = (("tokens", slots), ("n", n), ("k", k), ("top_k", model.top_k))
    return Launch(name, "triton_fused_moe", name, dims, model.layers, rows)


def _attention(model: Model, tokens: int, batch: int, phase: str) -> tuple[str, tuple[tuple[str, Any], ...]]:
    prefill = phase == "prefill"
    dims = (
        ("batch", batch),
        ("heads", model.heads),
        ("kv_heads", model.kv_heads),
        ("seq_q", tokens if prefill else 1),
        ("seq_kv", tokens if prefill else tokens + 1),
    )
    return f"{'causal' if prefill else 'decode'}_d{model.head_dim}", dims
