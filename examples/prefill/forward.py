"""A forward pass of a model with random weights, each tuned launch with the configuration that it is given.

Weights of `distinct` layers are held, and used in turn where the model has more: a layer's weights are larger than the
GPU's cache, so each pass reads them cold all the same. Routing is balanced, as random weights' own collapses in deep
layers; what sorts the slots runs before the pass, alike for all policies.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Optional

import small_kernels
import torch
import tuned_kernels
from models import Launch, Model
from models import launches as launches_of
from policies import Choice

BF16, FP32, INT32 = torch.bfloat16, torch.float32, torch.int32


class Weights:
    """Random weights of `distinct` layers and the head."""

    def __init__(self, model: Model, distinct: int, device: str, seed: int = 1) -> None:
        self.model = model
        self.distinct = distinct
        generator = torch.Generator(device=device).manual_seed(seed)

        def new(*shape: int) -> torch.Tensor:
            # Of a size that keeps activations near 1.
            made = torch.empty(shape, dtype=BF16, device=device)
            return made.normal_(0.0, shape[-1] ** -0.5, generator=generator)

        experts = (model.experts,) if model.experts else ()
        self.layers = [
            {
                "qkv": new(model.qkv, model.hidden),
                "o": new(model.hidden, model.heads * model.head_dim),
                "gate_up": new(*experts, 2 * model.intermediate, model.hidden),
                "down": new(*experts, model.hidden, model.intermediate),
                "router": new(max(model.experts, 1), model.hidden),
            }
            for _ in range(distinct)
        ]
        self.head = new(model.vocabulary, model.hidden)


def fitting_layers(model: Model, device: str, spare_bytes: int = 12 << 30) -> int:
    """How many layers' weights fit beside what a pass needs."""
    if device == "cpu":
        return model.layers
    free = torch.cuda.mem_get_info()[0] - spare_bytes - 2 * model.vocabulary * model.hidden
    return max(1, min(model.layers, free // model.layer_bytes()))


class Routing:
    """Balanced routing of slots to experts, sorted for each BLOCK_SIZE_M that is asked for."""

    def __init__(self, model: Model, rows: int, device: str) -> None:
        self.slots = rows * model.top_k
        self.experts = model.experts
        # Experts of one token are neighbours of each other, and all experts get the same.
        self.expert_of = [slot % model.experts for slot in range(self.slots)]
        self.weights = torch.full((self.slots,), 1.0 / model.top_k, dtype=FP32, device=device)
        self._device = device
        self._sorted: dict[int, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}

    def sorted_for(self, block: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns sorted_token_ids, expert_ids and num_tokens_post_padded."""
        if block not in self._sorted:
            ids: list[int] = []
            experts: list[int] = []
            for expert in range(self.experts):
                own = list(range(expert, self.slots, self.experts))
                blocks = tuned_kernels.ceil_div(len(own), block)
                ids += own + [self.slots] * (blocks * block - len(own))
                experts += [expert] * blocks
            new = lambda values: torch.tensor(values, dtype=INT32, device=self._device)  # noqa: E731
            self._sorted[block] = (new(ids), new(experts), new([len(ids)]))
        return self._sorted[block]


class Pass:
    """One pass's buffers and launches: `prefill` of `batch` prompts of `tokens`, or `decode` of one more token each.

    dense: "triton" or "cublas"; attention: "triton" or "cudnn". What is not Triton's takes no configuration.
    """

    def __init__(
        self,
        weights: Weights,
        tokens: int,
        batch: int,
        phase: str,
        device: str,
        dense: str = "triton",
        attention: str = "triton",
        layers: Optional[int] = None,
    ) -> None:
        model = self.model = weights.model
        self.weights, self.tokens, self.batch, self.phase = weights, tokens, batch, phase
        self.dense, self.attention_of, self.device = dense, attention, device
        self.layers = layers or model.layers
        self.launches = {launch.name: launch for launch in launches_of(model, tokens, batch, phase)}
        self.seq = tokens if phase == "prefill" else 1
        self.room = tokens if phase == "prefill" else tokens + 1
        self.first = 0 if phase == "prefill" else tokens
        rows = self.rows = batch * self.seq
        new = lambda *shape: torch.empty(shape, dtype=BF16, device=device)  # noqa: E731
        self.input = new(rows, model.hidden).normal_(0.0, 1.0, generator=torch.Generator(device=device).manual_seed(2))
        self.residual, self.normed, self.projected = (new(rows, model.hidden) for _ in range(3))
        self.qkv = new(rows, model.qkv)
        self.q, self.attended = (new(batch, model.heads, self.seq, model.head_dim) for _ in range(2))
        self.keys, self.values = (
            torch.randn(batch, model.kv_heads, self.room, model.head_dim, device=device).to(BF16) for _ in range(2)
        )
        self.merged = new(rows, model.heads * model.head_dim)
        slots = rows * max(model.top_k, 1)
        self.gate_up = new(slots, 2 * model.intermediate)
        self.gated = new(slots, model.intermediate)
        self.expert_out = new(slots, model.hidden) if model.experts else None
        self.router_out = new(rows, max(model.experts, 1))
        self.last = new(batch, model.hidden)
        self.logits = new(batch, model.vocabulary)
        self.routing = Routing(model, rows, device) if model.experts else None
        self._partials = torch.empty(0, dtype=FP32, device=device)
        self._logarithms = torch.empty(0, dtype=FP32, device=device)
        self._arrivals = torch.zeros(1 << 16, dtype=INT32, device=device)
        angles = torch.outer(
            torch.arange(self.room, dtype=FP32),
            1.0 / (1e6 ** (torch.arange(0, model.head_dim, 2, dtype=FP32) / model.head_dim)),
        )
        self.cosines, self.sines = angles.cos().to(device), angles.sin().to(device)

    def tuned(self) -> list[Launch]:
        """Returns the launches that take a configuration in this pass."""
        own = []
        for launch in self.launches.values():
            if launch.kernel == "triton_gemm" and self.dense != "triton":
                continue
            if launch.kernel == "triton_attention" and self.attention_of != "triton":
                continue
            own.append(launch)
        return own

    def reserve(self, choice: Mapping[str, Mapping[str, int]]) -> None:
        """Makes room for what parts leave each other with these configurations. Call before capturing."""
        for name, configuration in choice.items():
            launch = self.launches[name]
            elements = tuned_kernels.partial_elements(launch, configuration)
            if elements > self._partials.numel():
                self._partials = torch.empty(elements, dtype=FP32, device=self.device)
            if launch.kernel == "triton_attention":
                p = launch.problem
                rows = p["batch"] * p["heads"] * p["seq_q"] * configuration.get("SPLIT_KV", 1)
                if rows > self._logarithms.numel():
                    self._logarithms = torch.empty(rows, dtype=FP32, device=self.device)
            if launch.kernel == "triton_gemm" and configuration.get("SPLIT_K", 1) > 1:
                p = launch.problem
                tiles = tuned_kernels.ceil_div(p["m"], configuration["BLOCK_M"]) * tuned_kernels.ceil_div(
                    p["n"], configuration["BLOCK_N"]
                )
                if tiles > self._arrivals.numel():
                    self._arrivals = torch.zeros(tiles, dtype=INT32, device=self.device)
            if self.routing is not None and "BLOCK_SIZE_M" in configuration:
                self.routing.sorted_for(configuration["BLOCK_SIZE_M"])

    def call(self, name: str, configuration: Mapping[str, int], layer: int = 0) -> tuned_kernels.Call:
        """Returns a launch of the pass, with the buffers that it has there."""
        launch = self.launches[name]
        own = self.weights.layers[layer % self.weights.distinct]
        scratch = (self._partials, self._arrivals)
        if launch.kernel == "triton_attention":
            buffers = (self.q, self.keys, self.values, self.attended, self._partials, self._logarithms, self._arrivals)
            return tuned_kernels.attention(launch, configuration, *buffers)
        if launch.kernel == "triton_fused_moe":
            assert self.routing is not None
            routing = self.routing.sorted_for(configuration["BLOCK_SIZE_M"])
            a, c = (self.normed, self.gate_up) if name == "gate_up" else (self.gated, self.expert_out)
            return tuned_kernels.moe(launch, configuration, a, own[name], c, self.routing.weights, routing)
        a, b, c = {
            "qkv": (self.normed, own["qkv"], self.qkv),
            "o": (self.merged, own["o"], self.projected),
            "gate_up": (self.normed, own["gate_up"], self.gate_up),
            "down": (self.gated, own["down"], self.projected),
            "head": (self.last, self.weights.head, self.logits),
        }[name]
        return tuned_kernels.gemm(launch, configuration, a, b, c, *scratch)

    def run(self, choice: Choice) -> None:
        """Launches the pass. Allocates nothing but what torch's own attention does."""
        self.residual.copy_(self.input)
        for layer in range(self.layers):
            self._attention(choice, layer, adds=layer > 0)
            self._feed_forward(choice, layer)
        self._norm(self.residual, self.projected, adds=True)
        self.last.copy_(self.normed.view(self.batch, self.seq, -1)[:, -1])
        self._linear("head", choice, 0, self.last, self.weights.head, self.logits)

    def _attention(self, choice: Choice, layer: int, adds: bool) -> None:
        model, own = self.model, self.weights.layers[layer % self.weights.distinct]
        self._norm(self.residual, self.projected, adds)
        self._linear("qkv", choice, layer, self.normed, own["qkv"], self.qkv)
        small_kernels.rotate_and_split[(self.rows, tuned_kernels.ceil_div(model.heads + 2 * model.kv_heads, 16))](
            self.qkv, self.q, self.keys, self.values, self.cosines, self.sines, model.heads, model.kv_heads, self.seq,
            self.first, self.room, HEAD_DIM=model.head_dim, HEADS=16, num_warps=4,
        )  # fmt: skip
        if self.attention_of == "triton":
            self.call("attention", choice["attention"]).launch()
            attended = self.attended
        else:
            attended = _cudnn_attention(self.q, self.keys, self.values, causal=self.phase == "prefill")
        if self.seq == 1:
            merged = attended.reshape(self.rows, -1)
            self.merged.copy_(merged)
        else:
            small_kernels.merge_heads[(self.rows, tuned_kernels.ceil_div(model.heads, 16))](
                attended.contiguous(), self.merged, model.heads, self.seq, HEAD_DIM=model.head_dim, HEADS=16, num_warps=4
            )
        self._linear("o", choice, layer, self.merged, own["o"], self.projected)

    def _feed_forward(self, choice: Choice, layer: int) -> None:
        model, own = self.model, self.weights.layers[layer % self.weights.distinct]
        self._norm(self.residual, self.projected, adds=True)
        if not model.experts:
            self._linear("gate_up", choice, layer, self.normed, own["gate_up"], self.gate_up)
            self._gate()
            self._linear("down", choice, layer, self.gated, own["down"], self.projected)
            return
        torch.mm(self.normed, own["router"].t(), out=self.router_out)
        self.call("gate_up", choice["gate_up"], layer).launch()
        self._gate()
        self.call("down", choice["down"], layer).launch()
        block = 1024
        small_kernels.sum_slots[(self.rows, tuned_kernels.ceil_div(model.hidden, block))](
            self.expert_out, self.projected, model.hidden, TOP_K=model.top_k, BLOCK=block, num_warps=4
        )

    def _linear(self, name: str, choice: Choice, layer: int, a: Any, b: Any, c: Any) -> None:
        if self.dense == "triton":
            self.call(name, choice[name], layer).launch()
        else:
            torch.mm(a, b.t(), out=c)

    def _norm(self, residual: Any, added: Any, adds: bool) -> None:
        width = self.model.hidden
        block = 1 << math.ceil(math.log2(width))
        small_kernels.add_and_norm[(self.rows,)](
            added, residual, self.normed, width, ADDS=adds, BLOCK=block, num_warps=8 if block >= 2048 else 4
        )

    def _gate(self) -> None:
        width, block = self.model.intermediate, 1024
        small_kernels.gate[(self.gate_up.shape[0], tuned_kernels.ceil_div(width, block))](
            self.gate_up, self.gated, width, BLOCK=block, num_warps=4
        )


def _cudnn_attention(q: Any, keys: Any, values: Any, causal: bool) -> Any:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    attend: Callable[..., Any] = torch.nn.functional.scaled_dot_product_attention
    if q.device.type == "cpu":
        return attend(q, keys, values, is_causal=causal, enable_gqa=True)
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):
        return attend(q, keys, values, is_causal=causal, enable_gqa=True)
