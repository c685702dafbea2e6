"""Tables for tests that need no daemon: the payloads of tests/golden, put into a client's cache as a client would."""

import csv
import hashlib
import re
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "data"

# The kernel that all golden tables are of, and their dimensions.
KERNEL = "random"
DIMENSIONS = {
    "gemm": ("m", "n", "k"),
    "grouped_gemm": ("m", "n", "k"),
    "causal_attention": ("batch", "heads", "seq_q", "seq_kv"),
    "packed_attention": ("seq", "heads"),
    "overlapping_gemm": ("m", "n", "k"),
}
REPEATED = {"grouped_gemm": "m", "packed_attention": "seq"}


def digest(name: str) -> str:
    lines = (GOLDEN / "digests.txt").read_text().split("\n")
    return dict(line.split() for line in lines if line)[name]


def path(name: str) -> Path:
    return GOLDEN / f"{name}.table"


def fingerprint(name: str) -> str:
    """The first text of 64 hex digits in a payload (docs/table_format.md)."""
    return re.search(rb"[0-9a-f]{64}", path(name).read_bytes()).group().decode()


# What golden tables say of the device that they are for.
SILICON = "backend=replay;arch=test;mp=132"


def add_to_cache(folder: Path, *names: str) -> None:
    """Makes a cache of golden tables (client/src/table_cache.h has the layout)."""
    for name in names:
        _add(folder, name, path(name).read_bytes(), SILICON, "")


def add_variant_to_cache(folder: Path, name: str, *, silicon: str, compiler: str = "", device: str = "") -> None:
    """As add_to_cache, of a golden table as if it were measured on another device, with a compiler. The device's key
    has as many characters as SILICON, so that the payload stays whole. device: its UUID."""
    assert len(silicon) == len(SILICON)
    payload = path(name).read_bytes()
    assert payload.count(SILICON.encode()) == 1
    _add(folder, name, payload.replace(SILICON.encode(), silicon.encode()), silicon, compiler, device=device)


def add_experts_to_cache(folder: Path, compiler: str, more: bytes = b"") -> None:
    """As add_to_cache, of the golden table of experts, as if it were measured with a compiler. more: fields of its
    TableInfo, as text_field() makes them."""
    silicon = "backend=cuda;arch=sm_90;mp=132;memory_mib=143771;partition="
    environment = "driver=580.0;runtime=13.0;power_w=700"
    payload = path("fused_moe").read_bytes()
    _add(folder, "fused_moe", payload, silicon, compiler, "triton_fused_moe", environment, more=more)


def add_variant_with_manifest(folder: Path, name: str, *, silicon: str, arguments: str) -> Path:
    """Writes a golden table as if it were shipped with a kernel that has these arguments; returns the tables' folder."""
    payload = path(name).read_bytes().replace(SILICON.encode(), silicon.encode())
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / f"{name}.table").write_bytes(payload)
    (folder / "manifest.textproto").write_text(f"""
name: "{KERNEL}"
dimensions: "{", ".join(DIMENSIONS[name])}"
parameters: "BLOCK in {{16, 32}} default 16"
mapping {{ tiles: "ceil_div(m, BLOCK) * n" iterations_per_tile: "k" }}
implementations {{ backend: "replay" }}
arguments: "{arguments}"
representative_problems: "{", ".join(f"{dimension} = 16" for dimension in DIMENSIONS[name])}"
""")
    return folder / "tables"


def _add(
    folder: Path,
    name: str,
    payload: bytes,
    silicon: str,
    compiler: str,
    kernel: str = KERNEL,
    environment: str = "driver=1;runtime=1;power_w=700",
    device: str = "",
    more: bytes = b"",
) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = hashlib.sha256(payload).hexdigest()
    # TableInfo: kernel = 1, fingerprint = 2, silicon_key = 3, environment_key = 4, digest = 5, size_bytes = 7,
    # promoted_at_us = 8, device_uuid = 12, compiler = 17.
    info = b"".join(
        [
            text_field(1, kernel),
            text_field(2, fingerprint(name)),
            text_field(3, silicon),
            text_field(4, environment),
            text_field(5, own),
            number_field(7, len(payload)),
            number_field(8, 1),
            text_field(12, device or f"device of {name}"),
            text_field(17, compiler),
            more,
        ]
    )
    (folder / f"{own}.table").write_bytes(payload)
    (folder / f"{own}.info").write_bytes(info)


def golden_decisions(name: str):
    """Yields (extents by dimension, expected line) of the golden file, for problems that Python lets through."""
    with open(GOLDEN / "decisions.csv", newline="") as lines:
        for line in csv.DictReader(lines):
            if line["table"] != name or line["reason"] == "WRONG_DIMENSION_COUNT":
                continue
            extents = [int(extent) for extent in line["extents"].split()]
            problem = dict(zip(DIMENSIONS[name], extents))
            if name in REPEATED:
                problem[REPEATED[name]] = [int(extent) for extent in line["repeated"].split()]
            if all(extent >= 1 for dimension, extent in problem.items() if dimension != REPEATED.get(name)):
                yield problem, line


def bits(value: float) -> str:
    return struct.pack(">d", value).hex()


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number_field(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def text_field(field: int, value: str) -> bytes:
    data = value.encode()
    return _varint(field << 3 | 2) + _varint(len(data)) + data
