#!/usr/bin/env python3
"""Examples of the documents, but for Python's (client/python/tests/test_documents.py): C++ and C compile, manifests are read, JSON and
shell parse, commands and their options exist, and those that write or check a kernel's folder run. All environment variables are listed,
and the README's chart is drawn from the figures that are there.

    WAVETUNE_BIN_DIR=build/ci/bin tests/documents_test.py
"""

import functools
import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("WAVETUNE_BIN_DIR", ROOT / "build/ci/bin")).resolve()
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What a language's examples are tried by; the others are Python's, and plain text.
LANGUAGES = {"", "cpp", "c", "textproto", "json", "sh", "yaml", "python"}
CPP_GIVEN = """
struct Given {
  wavetune::Tuner gemm, tuner;
  std::shared_ptr<wavetune::Client> client;
  std::string digest, config_json;
  absl::Status status;
  std::vector<int64_t> counts;
  int64_t m, n, k;
  int rank;
  CUstream_st* stream;
  void *a, *b, *c;
  void Compile(const std::vector<wavetune::Configuration>&);
  void Broadcast(std::string*);
  void Barrier();
  void Examples();
};
void Given::Examples() {
"""
C_GIVEN = """
static long long last_seen;
static wavetune_client* client;
static wavetune_tuner* gemm;
void compile_what_is_missing(void* tuner, const char* digest);
"""
# What a manifest that is a part of one may lack.
INCOMPLETE = re.compile(
    r"nothing is declared as|unknown (dimension|parameter|argument|specialisation) |mapping.tiles: is empty|mapping.rows: is no axis"
)
VARIABLE = re.compile(
    r'(?:EnvironmentVariable\(|getenv\(|envname\(|environ\.get\(|_is_off\(|^_\w+ = )\s*"(WAVETUNE_[A-Z_]+)"', re.MULTILINE
)
NOT_FOR_USERS = {"WAVETUNE_TEST_TRITON_PYTHON"}


def examples(*languages):
    """Yields (page:line, text) of each block in one of the languages."""
    for page in PAGES:
        for block in BLOCK.finditer(text := page.read_text()):
            if block[1] in languages:
                yield f"{page.relative_to(ROOT)}:{text[: block.start()].count(chr(10)) + 2}", block[2]


def commands():
    """Yields (page:line, words) of each command of ours: one a line, without its comment and what the shell makes of it."""
    for place, text in examples("", "sh"):
        for line in re.sub(r"\\\n", " ", text).split("\n"):
            for part in re.split(r"&&|\|", re.sub(r"\s# .*| &$", "", line)):
                words = part.split()
                while words and re.fullmatch(r"[A-Z_]+=.*|export|sudo|nohup", words[0]):
                    words.pop(0)
                if words and (
                    words[0] in ("wavetune", "wavetuned", "wavetune-agent") or words[0].startswith(("scripts/", "deploy/"))
                ):
                    yield place, words


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


@functools.lru_cache(None)
def help_of(*command):
    result = run(BIN / command[0], *command[1:], "--help", env={**os.environ, "COLUMNS": "400"})
    return result.stdout if result.returncode == 0 else None


class DocumentsTest(unittest.TestCase):
    def test_languages_are_known(self):
        for page in PAGES:
            self.assertLessEqual({block[1] for block in BLOCK.finditer(page.read_text())}, LANGUAGES, page)

    def compile(self, command, text, suffix):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"examples{suffix}"
            path.write_text(text)
            result = run(*command, "-I", ROOT / "client/include", "-I", ROOT, path)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_cpp(self):
        """One unit of all: a program in a namespace of its own, anything less in a scope of its own."""
        includes, programs, parts = {'#include "wavetune/client.h"', '#include "wavetune/exported_kernel.h"'}, [], [CPP_GIVEN]
        for place, text in examples("cpp"):
            page, line = place.split(":")
            includes.update(re.findall(r"^#include .*", text, re.MULTILINE))
            text = re.sub(r"^#include .*", "", text, flags=re.MULTILINE)
            where = f'#line {line} "{page}"\n'
            if "int main()" in text:
                programs.append(f"namespace program_{len(programs)} {{\n{where}{text}}}\n")
            else:
                parts.append(f"{{\n{where}{text}}}\n")
        self.assertTrue(programs and len(parts) > 3)
        text = "\n".join([*sorted(includes), *programs, *parts, "}\n"])
        self.compile(["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wno-unused"], text, ".cc")

    def test_c(self):
        text = "#include <stdio.h>\n#include <wavetune/wavetune.h>\n" + C_GIVEN
        for place, example in examples("c"):
            page, line = place.split(":")
            # Declarations stand alone, calls in a function.
            declared, dots, called = example.partition("...\n")
            text += f'#line {line} "{page}"\n{declared}' + (f"void use(void) {{ {called} }}\n" if dots else "")
        self.compile(["cc", "-std=c11", "-fsyntax-only", "-Wall", "-Wno-unused-function"], text, ".c")

    def test_manifests(self):
        """Each is read: at the top of a manifest, or in an implementation. What it leaves out is missing, of course."""
        for place, text in examples("textproto"):
            said = [self.faults(text), self.faults(f'implementations {{ backend: "cuda" {text} }}')]
            self.assertTrue(any(all(INCOMPLETE.search(fault) for fault in faults) for faults in said), f"{place}: {said}")

    def faults(self, manifest):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "manifest.textproto").write_text(manifest)
            result = run(BIN / "wavetune", "kernels", "check", folder)
        text = result.stdout.split("manifest.textproto: ", 1)[-1]
        return text.strip().split("\n")[1:] if text.startswith("kernel ") else [text]

    def test_json(self):
        for place, text in examples("json"):
            with self.subTest(place):
                json.loads(text)

    def test_shell_parses(self):
        for place, text in examples("sh"):
            self.assertEqual(run("bash", "-n", "-c", text).returncode, 0, place)

    def test_commands_exist(self):
        found = 0
        for place, words in commands():
            with self.subTest(f"{place}: {' '.join(words)}"):
                if "/" in words[0]:
                    self.assertTrue(os.access(ROOT / words[0], os.X_OK))
                    continue
                known = words[:1]
                for word in words[1:]:
                    if (
                        not re.fullmatch(r"[a-z-]+", word)
                        or word.startswith("-")
                        or (inner := help_of(*known, word)) is None
                        or inner == help_of(*known)
                    ):
                        break
                    known.append(word)
                self.assertTrue(len(known) > 1 or len(words) == 1 or not re.fullmatch("[a-z]+", words[1]), "no such command")
                if known != ["wavetune", "export"]:  # Python's options.
                    for flag in re.findall(r"(?<=\s)--[a-z][a-z-]*", " ".join(words)):
                        self.assertRegex(help_of(*known), rf"{flag}\b")
                found += 1
        self.assertGreater(found, 60)

    def test_commands_that_need_no_node_run(self):
        """In a folder of their own for each page, in the page's order."""
        folders = {}
        for place, words in commands():
            folder = folders.setdefault(place.split(":")[0], tempfile.TemporaryDirectory())
            if words[:3] in (["wavetune", "kernels", "new"], ["wavetune", "kernels", "check"]) and "--from" not in words:
                words = shlex.split(" ".join(words))
                if words[2] == "check" and not (Path(folder.name) / words[3]).exists():
                    continue  # Of this tree, or of the author's.
                result = run(BIN / "wavetune", *words[1:], cwd=folder.name)
                self.assertEqual(result.returncode, 0, f"{place}: {words}: {result.stdout}{result.stderr}")
        for folder in folders.values():
            folder.cleanup()

    def test_the_chart_is_that_of_its_figures(self):
        with tempfile.NamedTemporaryFile(suffix=".svg") as file:
            result = run("python3", ROOT / "research/baselines/chart.py", "--out", file.name)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(
                Path(file.name).read_text(), (ROOT / "docs/images/choices.svg").read_text(), "run research/baselines/chart.py"
            )

    def test_environment_variables_are_listed(self):
        listed = (ROOT / "docs/variables.md").read_text()
        read = set()
        for room in ("base", "cli", "client/src", "client/python/src", "launch", "model", "profiler_agent", "server", "usage"):
            for path in [*(ROOT / room).rglob("*.cc"), *(ROOT / room).rglob("*.py")]:
                if not path.stem.endswith("_test"):
                    read |= set(VARIABLE.findall(path.read_text()))
        self.assertGreater(len(read), 8)
        self.assertEqual([name for name in sorted(read - NOT_FOR_USERS) if f"`{name}`" not in listed], [])


if __name__ == "__main__":
    unittest.main()
