#!/usr/bin/env python3
"""Finds sentences in comments of headers and in pages that are hard to read.

    scripts/prose.py                # as the stage format runs it: fails above a ceiling
    scripts/prose.py --list PATH... # each fault of these files, or of all that are checked

Three kinds of fault:

    what    "what is", "what was", "what has" and the like without a noun. Right are a question, which ends with "?",
            "what is wrong", "what is missing", and "what" with its noun: "the table that serves", "what driver was used".
    of      a comment or paragraph whose first word is "Of".
    long    a sentence of more than 30 words. A word is anything between spaces; code between ` ` is one.

A sentence ends with ".", "?" or "!", or with ":" before a capital or code. Examples, tables and headings are not read.
"""
import argparse
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 30
READ_FIRST = ["README.md", "CONTRIBUTING.md"] + ["docs/%s.md" % page for page in (
    "architecture", "client", "engines", "glossary", "python", "runbook", "serving", "tables", "triton")]
# Group, its files, and the most faults of each kind. A file is of the first group that has it.
GROUPS = [
    ("pages that users read first", READ_FIRST, {"what": 0, "of": 0, "long": 0}),
    ("public headers", ["client/include/*.h", "launch/include/*.h"], {"what": 0, "of": 0, "long": 0}),
    ("other pages", ["docs/*.md"], {"what": 3, "of": 0, "long": 4}),
    ("other headers", ["*.h"], {"what": 8, "of": 0, "long": 2}),
]
NOT_READ = ["docs/results.md", "docs/decisions/*"]  # Written by a script; history.

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


def group_of(path):
    """The index of a file's group; None where it is not read."""
    if any(fnmatch.fnmatch(path, pattern) for pattern in NOT_READ):
        return None
    return next((index for index, (_, patterns, _) in enumerate(GROUPS)
                 if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)), None)


def over_ceilings(files):
    """[message] for the groups with more faults than they may have; `files`: path -> text."""
    counts = [collections.defaultdict(list) for _ in GROUPS]
    for path, text in files.items():
        group = group_of(path)
        if group is not None:
            for line, kind, sentence in faults(path, text):
                counts[group][kind].append("%s:%d: %s: %s" % (path, line, kind, sentence))
    messages = []
    for (name, _, ceilings), found in zip(GROUPS, counts):
        for kind, most in ceilings.items():
            if len(found[kind]) > most:
                messages.append("%s: %d of kind '%s', and %d are allowed: rewrite the sentence; the ceiling only falls%s" % (
                    name, len(found[kind]), kind, most,
                    "".join("\n  " + fault for fault in found[kind]) if most == 0 else
                    "\n  scripts/prose.py --list FILE prints those of the files that you changed"))
    return messages


def tracked():
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.h", "*.md"], cwd=ROOT, check=True,
                            capture_output=True, text=True)
    return {path: (ROOT / path).read_text() for path in listed.stdout.split("\n") if path and (ROOT / path).exists()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each fault, of the paths or of all files")
    parser.add_argument("paths", nargs="*", type=pathlib.Path, help="with --list: files to look at")
    arguments = parser.parse_args()
    if arguments.list:
        files = {str(path): path.read_text() for path in arguments.paths} if arguments.paths else {
            path: text for path, text in tracked().items() if group_of(path) is not None}
        for path, text in files.items():
            for line, kind, sentence in faults(path, text):
                print("%s:%d: %s: %s" % (path, line, kind, sentence))
        return
    if arguments.paths:
        parser.error("paths go with --list")
    messages = over_ceilings(tracked())
    if messages:
        sys.exit("\n".join(messages))


if __name__ == "__main__":
    main()
