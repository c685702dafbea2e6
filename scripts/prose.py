#!/usr/bin/env python3
"""Finds sentences in comments of headers and in pages that are hard to read.

    scripts/prose.py                # all headers and pages, as the stage format does
    scripts/prose.py PATH...        # these files

Three kinds of fault:

    what    "what is", "what was", "what has" and the like without a noun. Right are a question, which ends with "?",
            "what is wrong", "what is missing", and "what" with its noun: "the table that serves", "what driver was used".
    of      a comment or paragraph whose first word is "Of".
    long    a sentence of more than 30 words. A word is anything between spaces; code between ` ` is one.

Prints each fault and fails where there is one. A sentence ends with ".", "?" or "!", or with ":" before a capital or code. Examples, tables and headings are not read.
"""
import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 30
READ = ["README.md", "CONTRIBUTING.md", "docs/*.md", "*.h"]
NOT_READ = ["docs/results.md", "docs/results/*", "docs/decisions/*"]  # Written by a script; figures; history.

COMMENT = re.compile(r"(?:^|(?<=\s))//+(.*)$")
ITEM = re.compile(r"\s*([-*]|\d+\.) ")
WHAT = re.compile(r"\bwhat (?:is|are|was|were|has|have|had)\b(?! (?:wrong|missing)\b)", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?:[.!?][)*\"']*\s+|:[)*\"']*\s+(?=[A-Z*(\[]))")


class Blocks:
    """Gathers lines to blocks: (line of the first, text)."""

    def __init__(self):
        self.done = []
        self.lines = []

    def add(self, number, line):
        if ITEM.match(line):
            self.end()
        if not self.lines:
            self.start = number
        self.lines.append(line.strip())

    def end(self):
        if self.lines:
            self.done.append((self.start, " ".join(self.lines)))
        self.lines = []


def with_slashes(text):
    """The lines of a C or C++ file with comments between /* and */ as // comments."""
    column = None
    for line in text.split("\n"):
        begin = line.find("/*") if column is None else -1
        if begin >= 0 and not COMMENT.search(line[:begin]):
            column = begin
            line = line[:begin] + "//" + line[begin + 2:]
        elif column is not None:
            line = " " * column + "//" + re.sub(r"^ *\*(?!/)", "", line)
        if column is not None and "*/" in line:
            column = None
            line = line[:line.index("*/")]
        yield line


def comments(text):
    """The comments of a C or C++ file, cut at empty lines and at items of lists."""
    blocks = Blocks()
    column = -1
    for number, line in enumerate(with_slashes(text), 1):
        found = COMMENT.search(line)
        if not found or found.start() != column or line[:found.start()].strip():
            blocks.end()
        column = found.start() if found else -1
        if not found or not found[1].strip():
            blocks.end()
        elif blocks.lines or not found[1].startswith("   "):  # Else an example: indented, after an empty line.
            blocks.add(number, found[1])
    blocks.end()
    return blocks.done


def paragraphs(text):
    """The paragraphs and items of a page in Markdown."""
    blocks = Blocks()
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.strip().startswith("```")
        code = code != fence
        if code or fence or line.startswith(("|", "#", "<", "!", "    ")) or not line.strip():
            blocks.end()
        else:
            blocks.add(number, line)
    blocks.end()
    return blocks.done


def sentences(text):
    text = re.sub(r"`[^`]*`", "X", ITEM.sub("", text, count=1) if ITEM.match(text) else text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    start = 0
    for end in SENTENCE_END.finditer(text):
        yield text[start:end.end()].strip()
        start = end.end()
    if text[start:].strip():
        yield text[start:].strip()


def faults(path, text):
    """[(line, kind, sentence)]; `path` says whether the text is C++ or Markdown."""
    found = []
    for line, block in comments(text) if path.endswith(".h") else paragraphs(text):
        for index, sentence in enumerate(sentences(block)):
            if index == 0 and sentence.startswith("Of "):
                found.append((line, "of", sentence))
            if len(sentence.split()) > MOST_WORDS:
                found.append((line, "long", sentence))
            if not sentence.endswith("?"):
                found += [(line, "what", sentence)] * len(WHAT.findall(sentence))
    return found


def is_read(path):
    return any(fnmatch.fnmatch(path, pattern) for pattern in READ) and not any(fnmatch.fnmatch(path, pattern) for pattern in NOT_READ)


def tracked(*patterns):
    """The files of the working tree that git knows, below ROOT."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", *patterns], cwd=ROOT, check=True,
                            capture_output=True, text=True)
    return [path for path in listed.stdout.split("\n") if path and (ROOT / path).exists()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=pathlib.Path, help="default: all headers and pages")
    paths = parser.parse_args().paths or [ROOT / path for path in tracked("*.h", "*.md") if is_read(path)]
    found = ["%s:%d: %s: %s" % (path.relative_to(ROOT) if path.is_relative_to(ROOT) else path, line, kind, sentence)
             for path in paths for line, kind, sentence in faults(str(path), path.read_text())]
    if found:
        sys.exit("\n".join([*found, "rewrite these sentences: subject, verb, object, with the noun named (scripts/prose.py --help)"]))


if __name__ == "__main__":
    main()
