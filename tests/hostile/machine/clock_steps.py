"""Clocks that step: an offline client decides with the table that served last, whatever the time of day was."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main  # pylint: disable=wrong-import-position

# Adds what a file says, in seconds, to the time of day of whoever loads it.
SHIM = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long Offset(void) {
  const char* path = getenv("CLOCK_OFFSET_FILE");
  long seconds = 0;
  FILE* file = path != NULL ? fopen(path, "r") : NULL;
  if (file == NULL) return 0;
  if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
  fclose(file);
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += Offset();
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec time;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}
"""


def table_of(node, offline=False):
    """The first digits of the digest that a client decides with."""
    result = node.cli("resolve", "column_sum", "n=1000", "k=200")
    check(result.returncode == 0, f"a client decides {result.stderr.strip()}")
    if offline:
        check("from the local cache" in result.stdout, "from its cache")
    return re.search(r"table ([0-9a-f]{16})", result.stdout).group(1)


def profile(node, *arguments):
    job = node.wait_for_job(node.reprofile("column_sum", *arguments))
    check(job["state"] == "SUCCEEDED", f"a profile ends {job.get('message', '')}")
    return job.get("digest", "")


def promote_another(node, digest):
    """Profiles until another table is promoted: a fit may give the serving one again, or lose to it."""
    for samples in (16, 12, 20, 24, 10, 28):
        job = node.wait_for_job(node.reprofile("column_sum", "--fresh", samples=samples))
        check(job["state"] == "SUCCEEDED", "a profile ends")
        if job.get("digest") and job["digest"] != digest:
            return job["digest"]
    return ""


def scenario():
    if shutil.which("gcc") is None:
        print("skipped: the clock shim takes gcc")
        return
    with Node() as node:
        (node.folder / "clock.c").write_text(SHIM)
        shim = node.folder / "clock.so"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", node.folder / "clock.c", "-o", shim], check=True)
        offset = node.folder / "offset"
        offset.write_text("0")
        clock = {"LD_PRELOAD": str(shim), "CLOCK_OFFSET_FILE": str(offset)}
        node.add_kernel("column_sum")
        node.start_daemon(environment=clock)
        node.start_agent()
        first = node.serve_table("column_sum")
        check(table_of(node) == first[:16], "a client has it")
        kept = node.folder / "kept"
        shutil.copytree(node.folder / "tables", kept)

        offset.write_text(str(-7 * 24 * 3600))
        second = promote_another(node, first)
        if not second:
            print("skipped: no other table was promoted within six profiles")
            return
        serving = node.json("tables", "list")["tables"][0]
        check(serving["digest"] == second, "the second table serves, a week before the first by the clock")
        check(table_of(node) == second[:16], "a client has it")
        # As a cache that kept both (another process put the old one back).
        for file in kept.iterdir():
            if not (node.folder / "tables" / file.name).exists():
                shutil.copy(file, node.folder / "tables")
        check(node.json("status").get("uptime_s", 0) >= 0, "the daemon has not run for a negative time")
        node.stop(node.daemon)
        check(table_of(node, offline=True) == second[:16], "offline it decides with the table that served last")

        # Forward by a year: nothing expires, jobs end.
        offset.write_text(str(365 * 24 * 3600))
        node.start_daemon(environment=clock)
        node.start_agent()
        profile(node)
        offset.write_text("0")
        profile(node)
        check(node.cli("status").returncode == 0, "the daemon answers")


main(scenario)
