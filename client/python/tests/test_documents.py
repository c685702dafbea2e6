"""Every Python example of the documents runs beside a daemon; of those for an engine or a GPU the calls fit what they call."""

import ast
import contextlib
import importlib
import inspect
import re
import shutil
import textwrap
from types import SimpleNamespace

import pytest
import tables
import test_node

import wavetune

PAGES = [tables.ROOT / "README.md", tables.ROOT / "client/python/README.md", *sorted((tables.ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What a test has not got: a GPU, and whoever launches on it.
FOREIGN = {"triton", "torch", "engine", "configs", "LLM", "kernel", "model"}
# What examples begin with.
GIVEN = {
    "tokens": 64,
    "launch": lambda **configuration: None,
    "tokens_of_each_expert": [1] * 128,
    "REFERENCE": "__kernel void scale_rows_reference() {}",
}


def examples():
    for page in PAGES:
        for block in BLOCK.finditer(text := page.read_text()):
            line = text[: block.start()].count("\n") + 2
            yield pytest.param(block[1], id=f"{page.relative_to(tables.ROOT)}:{line}")


def names(tree):
    """Returns the modules that an example imports, and the names that it takes from elsewhere."""
    parts = list(ast.walk(tree))
    modules = {alias.name for part in parts if isinstance(part, ast.Import) for alias in part.names}
    modules |= {part.module for part in parts if isinstance(part, ast.ImportFrom)}
    used = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    return modules | (used - {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)})


def called(function):
    """Returns what `wavetune.a.b` is; None for all that begins otherwise."""
    path = []
    while isinstance(function, ast.Attribute):
        path.insert(0, function.attr)
        function = function.value
    if not isinstance(function, ast.Name) or function.id != "wavetune":
        return None
    found = wavetune
    for name in path:
        if not hasattr(found, name):
            importlib.import_module(f"{found.__name__}.{name}")
        found = getattr(found, name)
    return found


@pytest.fixture(scope="module")
def node():
    node = test_node.Node()
    for kernel in ("gemm_f32", "gemm_bf16"):
        shutil.copytree(tables.ROOT / "kernels" / kernel, node.folder / "kernels" / kernel)
    node.start_daemon()
    yield node
    node.stop()


@pytest.mark.parametrize("text", list(examples()))
def test_example(text, node, monkeypatch, tmp_path):
    tree = ast.parse(text)
    if names(tree) & FOREIGN:
        for call in (part for part in ast.walk(tree) if isinstance(part, ast.Call)):
            if (function := called(call.func)) is not None:
                with contextlib.suppress(ValueError):  # The extension's classes have none; they run elsewhere.
                    signature = inspect.signature(function)
                    signature.bind(*call.args, **{keyword.arg: None for keyword in call.keywords})
        return
    monkeypatch.setenv("WAVETUNE_ENDPOINT", node.endpoint)
    monkeypatch.setenv("WAVETUNE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale_rows.cl").write_text("__kernel void scale_rows() {}")
    given = {**GIVEN, "tuner": SimpleNamespace(resolve_together=lambda problems: problems)}
    exec(compile(textwrap.dedent(text), "example", "exec"), given)  # noqa: S102
