#!/usr/bin/env python3
"""Builds the documents as a site: build/site/html, which loads nothing from elsewhere.

    scripts/site/build.py                # commands by the help of build/ci's programs
    scripts/site/build.py --build release
    scripts/site/build.py --serve        # then at http://127.0.0.1:8000

Pages are the documents of the tree, in their places, as docs/README.md lists them; a page that it does not list, a link or an
anchor that leads nowhere fails. Sources that pages link become pages. Three pages are completed here: commands by what
programs say of themselves, Python by its stubs and docstrings, C and C++ by their headers (Doxygen). MkDocs comes from PyPI
the first time; where that cannot be reached the site is skipped with a line that says so.
"""

import argparse
import functools
import http.server
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import triton_environment  # noqa: E402

SITE = ROOT / "scripts/site"
OUT = ROOT / "build/site"
INDEX = Path("docs/README.md")
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?\)")
LANGUAGES = {
    ".h": "cpp",
    ".cc": "cpp",
    ".cu": "cpp",
    ".py": "python",
    ".proto": "protobuf",
    ".json": "json",
    ".textproto": "protobuf",
    ".conf": "ini",
}
PROGRAMS = {"wavetune": 1, "wavetuned": 8, "wavetune-agent": 8}
PYTHON_MODULES = ["wavetune", "wavetune.triton", "wavetune.inductor", "wavetune.kernels"]
FOREIGN = re.compile(r"""<(?:script|link|img|iframe|source)[^>]+(?:src|href|srcset)=["']?(?:https?:)?//[^>]*""")


def documents():
    return sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))


def without_code(text):
    """The text with its code blocks blanked, so that places stay."""
    return re.sub(r"^```.*?^```", lambda block: re.sub(r"[^\n]", " ", block[0]), text, flags=re.M | re.S)


class Tree:
    """Stages pages below a folder, in the places that they have in the repository, and all that they link."""

    def __init__(self, folder):
        self.folder = folder
        self.staged = set()

    def stage(self, page, appended=""):
        if page in self.staged:
            return
        self.staged.add(page)
        text = (ROOT / page).read_text()
        plain = without_code(text)
        parts, end = [], 0
        for link in LINK.finditer(text):
            if plain[link.start()] == " " or ":" in link[2]:
                continue
            parts += [text[end : link.start()], self.replaced(page, link)]
            end = link.end()
        self.write(page, "".join([*parts, text[end:], appended]))

    def replaced(self, page, link):
        path = Path(posixpath.normpath((page.parent / link[2]).as_posix()))
        source = ROOT / path
        if source.is_dir():
            return link[0][1 : link[0].index("]")]  # Nothing to see there: its name alone.
        if path.suffix == ".md" and source.exists():
            self.stage(path)
        elif path.suffix in (".svg", ".png", ".gif") and source.exists():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self.folder / path)
        elif source.exists():
            self.stage_source(path)
            return f"{link[1]}{link[2]}.md)"
        return link[0]

    def stage_source(self, path):
        if path not in self.staged:
            self.staged.add(path)
            text = (ROOT / path).read_text()
            self.write(
                path.with_name(path.name + ".md"),
                f"# {path.name}\n\n`{path}`\n\n````{LANGUAGES.get(path.suffix, '')}\n{text}````\n",
            )

    def write(self, path, text):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)


def navigation():
    """What MkDocs takes as `nav`: the headings and links of docs/README.md."""
    groups = []
    for line in (ROOT / INDEX).read_text().splitlines():
        if line.startswith("## "):
            groups.append({line[3:]: []})
        for link in LINK.finditer(line) if groups and line.startswith("- ") else ():
            path = posixpath.normpath((INDEX.parent / link[2]).as_posix())
            if not link[3]:
                title = link[1][1:-2].replace("`", "")
                next(iter(groups[-1].values())).append({title[0].upper() + title[1:]: path})
    return groups


def listed(groups):
    return {path for group in groups for entries in group.values() for entry in entries for path in entry.values()}


def commands(programs):
    """Markdown of the help of each program's commands, by what their manual pages are made of."""
    text = []
    for name, section in PROGRAMS.items():
        page = subprocess.run(
            [ROOT / "deploy/man/man_page.sh", programs / name, str(section)], check=True, capture_output=True, text=True
        ).stdout
        text.append(f"\n## {name}\n")
        for line in page.splitlines():
            if heading := re.match(r'\.SS "(.*)"', line):
                text.append(f"\n### {heading[1]}\n" if " " in heading[1] else "")
            elif line in (".nf", ".fi"):
                text.append("```")
            elif not line.startswith(".") and text[-1] != f"\n## {name}\n":
                text.append(re.sub(r"^\\&", "", line).replace("\\-", "-").replace("\\e", "\\"))
    return "\n".join(text) + "\n"


def headers():
    """Doxygen's pages of the headers that programs include."""
    lines = (SITE / "Doxyfile").read_text() + f"OUTPUT_DIRECTORY = {OUT}/pages\nHTML_OUTPUT = headers\n"
    subprocess.run(["doxygen", "-"], input=lines, text=True, check=True, cwd=ROOT)


def stage(programs):
    """Writes the pages and MkDocs's configuration; returns the latter's path."""
    groups = navigation()
    missing = {str(path) for path in documents() if path.parent == INDEX.parent and path != INDEX} - listed(groups)
    if missing:
        sys.exit(f"{INDEX} does not list: {', '.join(sorted(missing))}")
    shutil.rmtree(OUT / "pages", ignore_errors=True)
    tree = Tree(OUT / "pages")
    tree.stage(Path("docs/commands.md"), commands(programs))
    tree.stage(Path("docs/python.md"), "\n## All of the package\n" + "".join(f"\n::: {name}\n" for name in PYTHON_MODULES))
    tree.stage(Path("docs/c-api.md"), "\n## All headers\n\n[The headers of C++ and C](../headers/files.html), by Doxygen.\n")
    for page in documents():
        tree.stage(page)
    tree.write(Path("wide.css"), (SITE / "wide.css").read_text())
    headers()
    configuration = {
        "INHERIT": str(SITE / "mkdocs.yml"), "docs_dir": str(OUT / "pages"), "site_dir": str(OUT / "html"), "nav": groups,
        "plugins": {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT / "client/python/src")]}}}},
    }  # fmt: skip
    (OUT / "mkdocs.yml").write_text(json.dumps(configuration))  # Which is YAML, too.
    return OUT / "mkdocs.yml"


def check_nothing_foreign():
    for page in (OUT / "html").rglob("*.html"):
        if found := FOREIGN.search(page.read_text()):
            sys.exit(f"{page}: loads from elsewhere: {found[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="ci", help="whose programs are asked for their help (ci)")
    parser.add_argument("--serve", action="store_true", help="serve the site on this machine afterwards")
    arguments = parser.parse_args()
    programs = ROOT / "build" / arguments.build / "bin"
    for name in PROGRAMS:
        if not (programs / name).exists():
            sys.exit(f"{programs / name} is not there; build it first: scripts/build.sh {arguments.build} {name}")
    requirements = [line for line in (SITE / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    python = triton_environment.prepare(OUT / "venv", requirements)
    if python is None:
        print("skipped: PyPI cannot be reached, and there is no environment with MkDocs yet")
        return
    command = [python, "-m", "mkdocs", "build", "--strict", "--config-file", stage(programs)]
    if subprocess.run(command, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode:
        sys.exit("the site was not built: mend what the warnings name, and run scripts/site/build.py again")
    check_nothing_foreign()
    print(f"{sum(1 for _ in (OUT / 'html').rglob('*.html'))} pages in {OUT / 'html'}; begin with index.html")
    if arguments.serve:
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=OUT / "html")
        http.server.ThreadingHTTPServer(("127.0.0.1", 8000), handler).serve_forever()


if __name__ == "__main__":
    main()
