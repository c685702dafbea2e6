"""For each phase and product of clock_probe's table: what the clocks explain.

Prints the spread of log(latency), its slope over log(clock) and what a line
leaves, for the clock that was counted and for NVML's.
"""

import csv
import math
import statistics
import sys


def line(clock, latency):
    """Slope of latency over clock, and the standard deviation around it."""
    x0, y0 = statistics.mean(clock), statistics.mean(latency)
    slope = sum((x - x0) * (y - y0) for x, y in zip(clock, latency))
    slope /= sum((x - x0) ** 2 for x in clock) or 1
    rest = [y - y0 - slope * (x - x0) for x, y in zip(clock, latency)]
    return slope, statistics.pstdev(rest)


def main(path):
    groups = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = tuple(int(row[name]) for name in ("phase", "m", "n", "k"))
            groups.setdefault(key, []).append(row)
    print("phase m n k: bursts, us, MHz counted, MHz of NVML; sd; "
          "slope and rest, counted; the same, NVML")
    for key, rows in sorted(groups.items()):
        us, counted, nvml = (
            [math.log(float(row[name])) for row in rows]
            for name in ("us", "counted_mhz", "nvml_mhz"))
        medians = [math.exp(statistics.median(v)) for v in (us, counted, nvml)]
        print(*key, ":", len(rows), "%.1f %.0f %.0f;" % tuple(medians),
              "%.4f;" % statistics.pstdev(us),
              "%.2f %.4f;" % line(counted, us), "%.2f %.4f" % line(nvml, us))


if __name__ == "__main__":
    main(sys.argv[1])
