"""The package as such: stubs, exports, and that the benchmark runs."""

import ast
import importlib.metadata
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wavetune
from wavetune import _native

PACKAGE = Path(wavetune.__file__).parent
SOURCE = Path(__file__).resolve().parents[1]

USER = """
import numpy
import wavetune

gemm = wavetune.connect(cache_dir=None).tuner("gemm_bf16", device="GPU-1")
decision = gemm.resolve(m=1, n=numpy.int64(2), k=[1, 2])
stages: int = decision.configuration["STAGES"]
latency: float = decision.latency_us * (1 + decision.relative_bound)
for table in [gemm.staged]:
    if table is not None:
        gemm.set_prepared(table.configurations)
        gemm.activate(table.digest)
fitted: bool = decision.source is wavetune.Source.FITTED
gemm.resolve(m=numpy.array([1, 2]), n=1, k=1)
key: dict[wavetune.Configuration, int] = {decision.configuration: hash(decision)}
with wavetune.connect(cache_dir=None) as client:
    names: tuple[str, ...] = client.kernels()
tiles: list[int] = [row.tiles for row in gemm.explain(m=1, n=2, k=3)]
"""


@pytest.fixture(scope="module")
def type_check(tmp_path_factory):
    """Checks a program's types as its author would; what it imports is read once for all programs."""
    cache = tmp_path_factory.mktemp("mypy")
    return lambda program: run("-m", "mypy", "--strict", "--cache-dir", cache, program, cwd=program.parent)


def run(*arguments, cwd=None, env=None):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_the_stubs_are_those_of_the_extension(tmp_path):
    allowed = Path(__file__).with_name("stubtest_allowlist.txt")
    options = ["--allowlist", allowed, "--ignore-unused-allowlist", "--mypy-config-file", SOURCE / "pyproject.toml"]
    result = run("-m", "mypy.stubtest", "wavetune", *options, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_stub_has_every_member_of_the_extension_and_no_other():
    tree = ast.parse((PACKAGE / "_native.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for name in ("Client", "Tuner", "Decision"):
        stubbed = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)}
        real = {member for member in vars(getattr(_native, name)) if not member.startswith("_")}
        assert {member for member in stubbed if not member.startswith("_")} == real
    for name in ("Source", "Reason", "Origin", "Mode", "Activation", "EventKind"):
        stubbed = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in classes[name].body
            if isinstance(node, ast.Assign)
        }
        assert stubbed == {member.name: member.value for member in getattr(_native, name)}


def test_a_program_that_uses_everything_type_checks(tmp_path, type_check):
    program = tmp_path / "program.py"
    program.write_text(USER)
    result = type_check(program)
    assert result.returncode == 0, result.stdout + result.stderr
    program.write_text(USER + 'wrong: str = decision.latency_us\ngemm.resolve(m="1", n=2, k=3)\n')
    result = type_check(program)
    assert "Found 2 errors" in result.stdout, result.stdout


def test_the_client_can_be_built_for_the_package_alone(tmp_path):
    """What pip does in a clean clone, as far as knowing how to build each file; scripts/soak.sh builds them."""
    nanobind = run("-m", "nanobind", "--cmake_dir").stdout.strip()
    configure = ["-S", SOURCE, "-B", tmp_path, "-G", "Ninja", f"-Dnanobind_DIR={nanobind}"]
    configure.append(f"-DPython_EXECUTABLE={sys.executable}")
    for command in (["cmake", *configure], ["ninja", "-C", tmp_path, "-t", "commands", "_native"]):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
    assert "wavetune_client_embedded.dir" in result.stdout
    assert "wavetune_server" not in result.stdout


def test_the_version_is_that_of_the_whole_project():
    listed = (SOURCE.parents[1] / "CMakeLists.txt").read_text()
    project = re.search(r"project\(wavetune\s+VERSION (\d+\.\d+\.\d+)", listed)
    assert project is not None
    assert wavetune.__version__ == project.group(1) == importlib.metadata.version("wavetune")


def test_the_example_of_the_readme_type_checks_and_runs_as_written(tmp_path, type_check):
    """Without a table it ends with the client's own error, after the lines that need none."""
    examples = re.findall(r"```python\n(.*?)```", (SOURCE.parents[1] / "README.md").read_text(), re.DOTALL)
    assert len(examples) == 1
    program = tmp_path / "example.py"
    program.write_text(examples[0])
    result = type_check(program)
    assert result.returncode == 0, result.stdout + result.stderr
    nowhere = {"WAVETUNE_ENDPOINT": f"unix:{tmp_path}/no.sock", "WAVETUNE_CACHE_DIR": str(tmp_path / "none")}
    result = run(program, cwd=tmp_path, env={**os.environ, **nowhere})
    assert "wavetune.errors.UnavailableError" in result.stderr, result.stdout + result.stderr


def test_what_the_package_exports_is_documented():
    for name in wavetune.__all__:
        assert inspect.getdoc(getattr(wavetune, name)), name
    for member in ("resolve", "explain", "dimensions", "configurations", "digest", "staged", "activate"):
        assert inspect.getdoc(getattr(wavetune.Tuner, member)), member
    assert str(inspect.signature(wavetune.Tuner.resolve)) == "(self, /, **dimensions)"
    assert (PACKAGE / "py.typed").exists()


def test_the_benchmark_runs_and_compares_with_the_empty_functions():
    result = run(SOURCE / "benchmarks" / "resolve_benchmark.py", "--quick")
    assert result.returncode == 0, result.stdout + result.stderr
    for row in ("empty", "empty_typed", "Repeated", "NewProblem", "/ empty_typed"):
        assert row in result.stdout, result.stdout


def test_the_extension_exports_nothing_but_the_module():
    symbols = subprocess.run(["nm", "-D", "--defined-only", _native.__file__], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in symbols.splitlines()] == ["PyInit__native"]


def start_program(tmp_path, site):
    """Runs the script that a wheel installs as `wavetune`, where `site` has the package."""
    script = tmp_path / "wavetune"
    shutil.copy(SOURCE / "start_program.py", script)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
    return run("-S", script, "status", "--json", env=environment)


def test_a_script_becomes_the_program_beside_the_package_and_finds_the_python_it_is_of(tmp_path):
    program = tmp_path / "site" / "wavetune" / "programs" / "bin" / "wavetune"
    program.parent.mkdir(parents=True)
    (tmp_path / "site" / "wavetune" / "__init__.py").write_text("raise ImportError('it is found, not imported')")
    program.write_text('#!/bin/sh\necho "${PATH%%:*} $WAVETUNE_PYTHON $*"\n')
    program.chmod(0o755)
    result = start_program(tmp_path, tmp_path / "site")
    assert (result.returncode, result.stdout) == (0, f"{Path(sys.executable).parent}  status --json\n"), result.stderr


@pytest.mark.parametrize("has_package", [True, False])
def test_a_script_without_its_program_says_what_to_install(tmp_path, has_package):
    site = tmp_path / "site"
    site.mkdir()
    if has_package:
        (site / "wavetune").mkdir()
        (site / "wavetune" / "__init__.py").touch()
    result = start_program(tmp_path, site)
    assert result.returncode == 1
    assert result.stderr.startswith("wavetune: ") and "install the wheel" in result.stderr
