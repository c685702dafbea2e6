#!/usr/bin/env python3
"""Counts the tuned constants of the fit.

    scripts/fit_constants.py          # their number, by folder
    scripts/fit_constants.py --list   # each with its file

A tuned constant is a number with a name (kName) in fit/ or model/kernel/wave_form.h, tests left out, that would change
what is planned, fitted, verified or promised if it were another. An array counts as one, as does a default of BoundRule.
Not counted: what follows from another constant, ends of ranges that no data reach, numerical tolerances, sentinels,
sizes of types, what only notes for people depend on (fit/build/misfit_*). NOT_TUNED names these, and says why.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DECLARATION = re.compile(r"\bconstexpr\s+[\w:<>, ]+?\s(k[A-Z]\w*)(?:\[\])?\s*=")
MEMBER = re.compile(r"^  double (\w+) = [0-9.]+;", re.MULTILINE)
NOT_TUNED = {
    "sentinels": "kNobody kUnreached kUnpredicted kInfinity kNone",
    "follow from others": "kOfMemory kTile kShareSteps kMemory kTileAndMemory kStepsAndMemory kMaxOuterSteps kRankMarginUnit "
                         "kMostPerProblem kItemsOfAPoint kMaxAnchors kLeastAnchors kSmoothWaves kDepths "
                         "kLeastBudget kLeastImportance kOtherRows kFactorSteps",
    "sizes of types": "kTerms kMemoryClasses kMicroBit",
    "numerical tolerances": "kGradientEnd kPositive kLeastDrop kRounds kRoundsInAll kReweightings",
    "ends of ranges that no data reach": "kShortestLatencyUs kLongestLatencyUs kRegretCap kLargestAlignment kLeastRatio",
    "for people": "kDoesNotFollowWaves kSomeProblemsHaveNoCandidate kContradictoryMeasurements kThrottledMeasurements "
                  "kProfilesDisagree kUncalibratedBounds kRowsWithoutSamples kPoorFit kMostWarnings kNoCandidate kFewWaves",
    "of recordings, which no profile takes": "kGridAnchors kGridFillDelay kSteps kLadderSteps kLoopSteps",
    "sizes of batches and tables": "kBatch kBatchOfDevice",
    "a low-discrepancy sequence": "kNeighbourSteps kFactors",
}


def names_of(path):
    """The constants that a file declares, those that are not tuned left out."""
    text = path.read_text()
    names = DECLARATION.findall(text)
    if path.name == "error_bounds.h":
        names += MEMBER.findall(text)
    left_out = set(" ".join(NOT_TUNED.values()).split())
    return [name for name in names if name not in left_out and "%s_%s" % (name, path.stem) not in left_out]


def find(root):
    """[(file, name)], sorted."""
    files = [p for p in (root / "fit").rglob("*") if p.suffix in (".h", ".cc") and "testing" not in p.parts
             and not p.stem.endswith("_test") and not p.stem.startswith("misfit_")]
    files.append(root / "model" / "kernel" / "wave_form.h")
    return [(path.relative_to(root), name) for path in sorted(files) for name in names_of(path)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each constant")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=ROOT, help="another checkout")
    arguments = parser.parse_args()
    found = find(arguments.root)
    if not found:
        sys.exit("no constants below %s: is it a checkout?" % arguments.root)
    if arguments.list:
        for path, name in found:
            print(path, name)
        return
    by_folder = {}
    for path, _ in found:
        by_folder[path.parent] = by_folder.get(path.parent, 0) + 1
    for folder, count in sorted(by_folder.items()):
        print("%-14s %3d" % (folder, count))
    print("%-14s %3d" % ("all", len(found)))


if __name__ == "__main__":
    main()
