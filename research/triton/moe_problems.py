#!/usr/bin/env python3
"""Prints the representative problems of kernels/triton_fused_moe, of balanced and skewed routing.

    research/triton/moe_problems.py > problems.txt

Each model's token counts alternate between balanced routing (slot counts differ by at most one) and
skewed routing, where the share of expert number r is proportional to 1 / (r + 1)^s, s between 0.5
and 1.2, experts in random order, slots drawn one by one. Models and token counts are others than
those of fused_moe.csv, which judges. Equal on every machine.
"""

import random

# name, experts on a device, experts of a token, hidden, intermediate on a device
MODELS = (
    ("Qwen1.5-MoE-A2.7B", 60, 4, 2048, 1408),
    ("Phi-3.5-MoE", 16, 2, 4096, 6400),
    ("Mixtral-8x22B over 4 devices", 8, 2, 6144, 4096),
    ("Qwen3-235B-A22B over 4 devices", 128, 8, 4096, 384),
    ("Granite-3.0-3B-A800M", 40, 8, 1536, 512),
)
TOKENS = (1, 3, 10, 28, 60, 140, 320, 800, 1800, 4000, 9000)


def balanced(slots: int, experts: int) -> list[int]:
    """Returns slots of each expert, the larger first."""
    return [slots // experts + (i < slots % experts) for i in range(experts)]


def skewed(slots: int, experts: int, exponent: float, rng: random.Random) -> list[int]:
    """Returns slots of each expert, drawn with shares that fall with a power of the expert's rank."""
    order = list(range(experts))
    rng.shuffle(order)
    counts = [0] * experts
    weights = [(rank + 1) ** -exponent for rank in range(experts)]
    for expert in rng.choices(order, weights, k=slots):
        counts[expert] += 1
    return counts


def main() -> None:
    for model, (name, experts, top_k, hidden, intermediate) in enumerate(MODELS):
        rng = random.Random(name)
        print(f"# {name}: {experts} experts, {top_k} for a token")
        for step, tokens in enumerate(TOKENS):
            slots = tokens * top_k
            # Other models skew other counts. Few tokens are never balanced.
            if (step + model) % 2 or tokens <= 10:
                routing = skewed(slots, experts, rng.choice((0.5, 0.8, 1.2)), rng)
            else:
                routing = balanced(slots, experts)
            listed = ", ".join(map(str, routing))
            for products, n, k in (
                ("gate_up", 2 * intermediate, hidden),
                ("down", hidden, intermediate),
            ):
                extents = f"n = {n}, k = {k}, top_k = {top_k}"
                print(f'representative_problems: "tokens = [{listed}], {extents} for {products}"')


if __name__ == "__main__":
    main()
