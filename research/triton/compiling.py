"""Compiles the Triton kernels of this repository without a GPU, and says what the code is like.

For tests and research: the agent compiles through profiler_agent/cuda/triton. Needs triton, whose wheel
has ptxas, cuobjdump and nvdisasm.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import io
import itertools
import os
import re
import subprocess
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

os.environ["TRITON_DUMP_PTXAS_LOG"] = "1"  # Read where it compiles.
KERNELS = Path(__file__).resolve().parents[2] / "kernels"
BINARIES = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
TYPES = {"bfloat16": "*bf16", "float32": "*fp32", "int32": "*i32"}
OPTIONS = ("num_warps", "num_stages")


@dataclass(frozen=True)
class Manifest:
    """What a manifest says of parameters and constants, as far as these kernels' texts go."""

    text: str

    @functools.cached_property
    def parameters(self) -> dict[str, list[int]]:
        """Values by name."""
        found = {}
        for text in re.findall(r'^parameters: "(.*)"$', self.text, re.M):
            for name, listed in re.findall(r"(\w+) in \{([^}]*)\}", text):
                found[name] = list(
                    itertools.chain.from_iterable(_values(part) for part in listed.split(","))
                )
        return found

    @functools.cached_property
    def specialisations(self) -> dict[str, dict[str, int]]:
        """Constants by name of the specialisation; {"": {}} where there are none."""
        found = {}
        for name, text in re.findall(r'^specialisations: "(\w+): (.*)"$', self.text, re.M):
            found[name] = {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", text)}
        for block in re.findall(r"^specialisations \{\n(.*?)^\}", self.text, re.M | re.S):
            name = re.search(r'name: "(\w+)"', block)[1]
            found[name] = {
                key: int(value) for key, value in re.findall(r'key: "(\w+)" value: (\d+)', block)
            }
        return found or {"": {}}

    def space(self, specialisation: str) -> list[dict[str, int]]:
        """Returns the configurations that all requirements allow. Dimensions count as 1."""
        joined = re.sub(r'"\n +"', "", self.text)
        texts = re.findall(r'^require: "(.*)"$', joined, re.M)
        requirements = [_condition(text) for text in texts]
        others = self.specialisations[specialisation] | dict.fromkeys("mnk", 1)
        found = []
        for values in itertools.product(*self.parameters.values()):
            configuration = dict(zip(self.parameters, values))
            if all(eval(condition, {}, configuration | others) for condition in requirements):
                found.append(configuration)
        return found

    @functools.cached_property
    def arguments(self) -> list[tuple[str, str]]:
        """Names and Triton types of the arguments, in order."""
        found = []
        for text in re.findall(r'^arguments: "(.*)"$', self.text, re.M):
            for part in re.split(r", (?=(?:in|out|inout|workspace) |\w+ int32)", text):
                buffer = re.match(r"(?:in|out|inout|workspace) (?:cold )?(\w+)\[.*\] (\w+)", part)
                found.append((buffer[1], TYPES[buffer[2]]) if buffer else (part.split()[0], "i32"))
        return found

    @property
    def entry(self) -> str:
        return re.search(r'backend: "triton".*entry: "(\w+)"', self.text)[1]


def _values(text: str) -> list[int]:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if ".." not in text:
        return numbers
    first, last, step = (*numbers, 1)[:3]
    if "times" not in text:
        return list(range(first, last + 1, step))
    return [first * step**i for i in range(64) if first * step**i <= last]


def _condition(text: str) -> Any:
    """Compiles a requirement: these kernels' are Python but for `when` and KiB."""
    text = re.sub(r"(\d+) KiB", r"(\1 * 1024)", text)
    condition, _, premise = text.partition(" when ")
    return compile(f"({condition}) or not ({premise})" if premise else condition, text, "eval")


def manifest_of(kernel: str) -> Manifest:
    return Manifest((KERNELS / kernel / "manifest.textproto").read_text())


@functools.lru_cache
def function_of(kernel: str) -> Any:
    """Returns the kernel's @triton.jit function."""
    path = KERNELS / kernel / f"{kernel}.py"
    spec = importlib.util.spec_from_file_location(f"{kernel}_compiled", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, manifest_of(kernel).entry)


@dataclass(frozen=True)
class Code:
    """A compiled kernel."""

    registers: int  # Of a thread.
    spill_bytes: int  # Stored to local memory, of a thread.
    shared_bytes: int
    warnings: list[str]  # Of ptxas: what it serialises.
    ptx: str
    cubin: bytes

    def instructions(self) -> list[str]:
        """Returns the machine code's instructions with modifiers and without operands, in order."""
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(self.cubin)
            file.flush()
            listed = subprocess.run(
                [BINARIES / "nvdisasm", "-c", file.name], capture_output=True, text=True, check=True
            )
        found = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", listed.stdout)
        return [name for name in found if name != "NOP"]


def compile_kernel(
    kernel: str,
    configuration: dict[str, int],
    constants: dict[str, int],
    architecture: int,
    unaligned: tuple[str, ...] = (),
    ones: tuple[str, ...] = (),
) -> Code:
    """Returns the code that Triton would launch for pointers that are aligned, and scalars that are
    multiples of 16 but for those in `unaligned` and in `ones` (which are 1), as far as the function
    specialises them.
    """
    function, manifest = function_of(kernel), manifest_of(kernel)
    fixed = {param.name for param in function.params if param.do_not_specialize}
    values = constants | {
        name: value for name, value in configuration.items() if name not in OPTIONS
    }
    types = dict(manifest.arguments)
    for name in ones:
        if name not in fixed:
            values[name] = 1
    signature = {
        name: "constexpr" if name in values else types[name] for name in function.arg_names
    }
    aligned = [
        name
        for name, kind in signature.items()
        if kind.startswith("*") or kind == "i32" and name not in fixed and name not in unaligned
    ]
    index = function.arg_names.index
    source = ASTSource(
        function,
        signature,
        {(index(name),): value for name, value in values.items()},
        {(index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    options = {name: configuration[name] for name in OPTIONS if name in configuration}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        target = GPUTarget("cuda", architecture, 32)
        compiled = triton.compile(source, target=target, options=options)
    log = said.getvalue()
    if " registers" not in log:  # It was in Triton's cache.
        log = _ptxas_log(compiled.asm["ptx"], architecture)
    return Code(
        registers=int(re.search(r"Used (\d+) registers", log)[1]),
        spill_bytes=int(re.search(r"(\d+) bytes spill stores", log)[1]),
        shared_bytes=compiled.metadata.shared,
        warnings=re.findall(r".*serializ.*", log, re.I),
        ptx=compiled.asm["ptx"],
        cubin=compiled.asm["cubin"],
    )


def _ptxas_log(ptx: str, architecture: int) -> str:
    binary = BINARIES / ("ptxas-blackwell" if architecture >= 100 else "ptxas")
    name = f"sm_{architecture}" + ("a" if architecture >= 90 else "")
    with tempfile.NamedTemporaryFile(
        suffix=".ptx", mode="w"
    ) as file, tempfile.NamedTemporaryFile() as cubin:
        file.write(ptx)
        file.flush()
        run = subprocess.run(
            [binary, "-v", f"--gpu-name={name}", file.name, "-o", cubin.name],
            capture_output=True,
            text=True,
            check=True,
        )
    return run.stdout + run.stderr


def lines_of_code(path: Path) -> int:
    """Returns the lines of a Python file that hold code: no blank ones, comments or docstrings."""
    text = path.read_text()
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, first.end_lineno + 1))
    skipped = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.ENCODING,
    )
    lines = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in skipped:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)
