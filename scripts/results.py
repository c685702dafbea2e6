#!/usr/bin/env python3
"""Headline figures: docs/results/*.json, and docs/results.md written from them.

    scripts/results.py record ID --from FILE.json --key KEY --machine M --commit C
    scripts/results.py page [--check]

KEY is a path in what `wavetune evaluate --json` or `wavetune bench --json`
writes (a.b.c), or the name of a benchmark in google-benchmark's JSON.
"""
import argparse
import datetime
import json
import pathlib
import re
import sys

KEYS = ("id", "what", "target", "measured", "unit", "machine", "driver",
        "command", "commit", "date", "conditions", "missed")
TOPICS = (("quality", "Quality of choices, replayed"),
          ("live", "`gemm_bf16`, live"),
          ("decisions", "Decision time"),
          ("node", "Node, tests and checking"))
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Error(Exception):
    pass


def load(path):
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise Error(f"{path} is not JSON: {error}") from error


def entries(path):
    listed = load(path)
    if not isinstance(listed, list):
        raise Error(f"{path}: expected a list of figures")
    for entry in listed:
        missing = [key for key in KEYS if key not in entry]
        if missing:
            raise Error(f"{path}: figure {entry.get('id', '?')} lacks "
                        + ", ".join(missing))
    return listed


def value(output, key):
    for benchmark in output.get("benchmarks", []):
        if benchmark["name"] == key:
            return benchmark["real_time"]
    found = output
    for part in key.split("."):
        if not isinstance(found, dict) or part not in found:
            raise Error(f"no {key} in the output given")
        found = found[part]
    return found


def page(folder):
    lines = ["# Results", "",
             "Written by `scripts/results.py page` from `docs/results/*.json`; "
             "do not edit.",
             "What was tried, board by board, is in the "
             "[notebook](../research/notebook.md).",
             "How figures are judged: [method](method.md).", ""]
    for topic, title in TOPICS:
        lines += [f"## {title}", "",
                  "| what | target | measured | machine, commit, date |",
                  "|---|---|---|---|"]
        listed = entries(folder / f"{topic}.json")
        for e in listed:
            missed = " (**missed**)" if e["missed"] else ""
            unit = f" {e['unit']}" if e["unit"] else ""
            lines.append(f"| {e['what']} | {e['target']} | "
                         f"{e['measured']}{unit}{missed} | "
                         f"{e['machine']}, {e['commit']}, {e['date']} |")
        lines.append("")
        for e in listed:
            command = f": `{e['command']}`" if e["command"] else ""
            lines.append(f"- {e['what']}{command}.")
            # A sentence a line.
            lines += [f"  {sentence}" for sentence
                      in re.split(r"(?<=\.)\s+", e["conditions"]) if sentence]
        lines.append("")
    return "\n".join(lines)


def record(folder, args):
    measured = value(load(pathlib.Path(args.source)), args.key)
    for path in sorted(folder.glob("*.json")):
        listed = entries(path)
        for entry in listed:
            if entry["id"] != args.id:
                continue
            entry.update(measured=f"{measured * args.scale:.{args.digits}f}",
                         machine=args.machine, commit=args.commit,
                         date=args.date, missed=args.missed)
            path.write_text(json.dumps(listed, indent=1, ensure_ascii=False)
                            + "\n")
            return
    raise Error(f"no figure {args.id} in {folder}")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs")
    verbs = parser.add_subparsers(dest="verb", required=True)
    rec = verbs.add_parser("record")
    rec.add_argument("id")
    rec.add_argument("--from", dest="source", required=True)
    for name in ("key", "machine", "commit"):
        rec.add_argument(f"--{name}", required=True)
    rec.add_argument("--date", default=str(datetime.date.today()))
    rec.add_argument("--scale", type=float, default=1)
    rec.add_argument("--digits", type=int, default=1)
    rec.add_argument("--missed", action="store_true")
    verbs.add_parser("page").add_argument("--check", action="store_true")
    args = parser.parse_args(argv)
    folder = args.docs / "results"
    try:
        if args.verb == "record":
            record(folder, args)
            return 0
        text = page(folder)
        out = args.docs / "results.md"
        if not args.check:
            out.write_text(text)
        elif out.read_text() != text:
            raise Error(f"{out} is stale: run scripts/results.py page")
    except Error as error:
        print(f"results.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
