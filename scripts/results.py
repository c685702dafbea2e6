#!/usr/bin/env python3
"""Headline figures: docs/results/*.json, and docs/results.md written from them.

    scripts/results.py record ID --from FILE.json --key KEY --machine M --commit C
    scripts/results.py record NEW_ID ... --topic T --what W --command C
    scripts/results.py page [--check]

KEY is a path in what `wavetune evaluate --json` or `wavetune bench --json`
writes (a.b.c), or the name of a benchmark in google-benchmark's JSON; several
keys make one figure of several numbers. Whether a figure misses its target
follows from the target ("≥ 99, ≥ 95, ≥ 88 %", "90–97 %", "± 5 %") where that
has bounds; --missed says it where it has none.
"""
import argparse
import datetime
import json
import pathlib
import re
import sys

KEYS = ("id", "what", "target", "measured", "unit", "machine", "driver",
        "command", "commit", "date", "conditions", "missed")
TOPICS = (("hour", "The first hour"),
          ("quality", "Quality of choices, replayed"),
          ("live", "`gemm_bf16`, live"),
          ("kernels", "Triton kernels' code"),
          ("serving", "Triton kernels of serving engines"),
          ("decisions", "Decision time"),
          ("node", "Node, tests and checking"),
          ("fleet", "Fleets"))
GIVEN = ("what", "target", "unit", "driver", "command", "conditions")
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
        unknown = [key for key in ("machine", "command", "commit", "date")
                   if entry[key] in ("", "not noted")]
        if unknown:
            raise Error(f"{path}: figure {entry['id']} does not say "
                        + ", ".join(unknown))
        missed = misses(entry["target"], entry["measured"])
        if missed is not None and missed != entry["missed"]:
            raise Error(f"{path}: figure {entry['id']} says missed: "
                        f"{entry['missed']}, its target says {missed}")
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


NUMBER = r"\d+(?:\.\d+)?"
BOUND = re.compile(rf"([≥≤±])\s*({NUMBER})|({NUMBER})–({NUMBER})")


def misses(target, measured):
    """Whether `measured` breaks a bound of `target`; None where it has none.

    One bound holds for every number, several hold in turn. What stands in
    parentheses says more, and is no bound.
    """
    bounds = BOUND.findall(re.sub(r"\(.*?\)", "", target))
    numbers = [float(n.replace("−", "-")) for n in re.findall(
        rf"[-−]?{NUMBER}", re.sub(r"\(.*?\)", "", measured))]
    if not bounds or not numbers or 1 < len(bounds) > len(numbers):
        return None
    if len(bounds) == 1:
        bounds *= len(numbers)

    def broken(bound, number):
        kind, limit, low, high = bound
        if kind == "≥":
            return number < float(limit)
        if kind == "≤":
            return number > float(limit)
        if kind == "±":
            return abs(number) > float(limit)
        return not float(low) <= number <= float(high)

    return any(broken(b, n) for b, n in zip(bounds, numbers))


def page(folder):
    lines = ["# Results", "",
             "Written by `scripts/results.py page` from `docs/results/*.json`; "
             "do not edit.",
             "What was tried, board by board, is in the "
             "[notebook](../research/notebook.md).",
             "How figures are judged: [method](method.md).", ""]
    for topic, title in TOPICS:
        lines += [f"## {title}", "",
                  "| what | target | measured | machine, commit, date | by |",
                  "|---|---|---|---|---|"]
        listed = entries(folder / f"{topic}.json")
        commands = list(dict.fromkeys(e["command"] for e in listed))
        for e in listed:
            missed = " (**missed**)" if e["missed"] else ""
            unit = f" {e['unit']}" if e["unit"] else ""
            lines.append(f"| {e['what']} | {e['target']} | "
                         f"{e['measured']}{unit}{missed} | "
                         f"{e['machine']}, {e['commit']}, {e['date']} | "
                         f"{commands.index(e['command']) + 1} |")
        lines.append("")
        for number, command in enumerate(commands, 1):
            lines.append(f"{number}. `{command}`")
            # A sentence a line.
            lines += [f"   - {e['what']}: " + "\n     ".join(
                re.split(r"(?<=\.)\s+", e["conditions"]))
                for e in listed
                if e["command"] == command and e["conditions"]]
        lines.append("")
    return "\n".join(lines)


def added(folder, args):
    """Returns the file and the figures of a new figure's topic, it included."""
    lacks = [f"--{name}" for name in ("topic", "what", "command")
             if not getattr(args, name)]
    if lacks:
        raise Error(f"no figure {args.id} in {folder}; a new one needs "
                    + ", ".join(lacks))
    path = folder / f"{args.topic}.json"
    entry = dict.fromkeys(KEYS, "")
    entry["id"] = args.id
    return path, entries(path) + [entry], entry


def record(folder, args):
    output = load(pathlib.Path(args.source))
    measured = ", ".join(f"{value(output, key) * args.scale:.{args.digits}f}"
                         for key in args.key)
    for path in sorted(folder.glob("*.json")):
        listed = entries(path)
        entry = next((e for e in listed if e["id"] == args.id), None)
        if entry:
            break
    else:
        path, listed, entry = added(folder, args)
    given = {key: getattr(args, key) for key in GIVEN
             if getattr(args, key) is not None}
    entry.update(given, measured=measured, machine=args.machine,
                 commit=args.commit, date=args.date)
    missed = misses(entry["target"], measured)
    entry["missed"] = args.missed if missed is None else missed
    path.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs")
    verbs = parser.add_subparsers(dest="verb", required=True)
    rec = verbs.add_parser("record")
    rec.add_argument("id")
    rec.add_argument("--from", dest="source", required=True)
    rec.add_argument("--key", required=True, action="append")
    for name in ("machine", "commit"):
        rec.add_argument(f"--{name}", required=True)
    for name in GIVEN:
        rec.add_argument(f"--{name}", help="as in the page")
    rec.add_argument("--topic", choices=[topic for topic, _ in TOPICS],
                     help="of a new figure")
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
