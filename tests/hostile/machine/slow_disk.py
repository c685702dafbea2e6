"""A disk whose fsync takes four seconds: readers do not wait for it."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, wait_until  # pylint: disable=wrong-import-position

SLOW_FSYNC = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_where_slow(void) {
  if (access(getenv("SLOW_DISK_FLAG"), F_OK) == 0) sleep(4);
}
int fsync(int fd) {
  wait_where_slow();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int fdatasync(int fd) {
  wait_where_slow();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
"""
WRITERS = 8
# A call of the command line on a busy machine; one fsync takes 4.
MOST_S = 3.5


def reads_are_quick(node, seconds):
    """The slowest of reads of all kinds that are repeated for a while."""
    slowest = 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for command in (["status"], ["tables", "list"], ["jobs", "list"], ["kernels", "list"], ["devices"]):
            begin = time.monotonic()
            result = node.cli(*command, timeout=60)
            slowest = max(slowest, time.monotonic() - begin)
            if result.returncode != 0:
                check(False, f"{command} answers: {result.stderr}")
    return slowest


def scenario():
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("skipped: no C compiler", flush=True)
        sys.exit(0)
    with Node() as node:
        library, flag = node.folder / "slow_fsync.so", node.folder / "slow"
        (node.folder / "slow_fsync.c").write_text(SLOW_FSYNC)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, node.folder / "slow_fsync.c", "-ldl"], check=True)
        node.add_kernel("column_sum")
        node.start_daemon(environment={"LD_PRELOAD": str(library), "SLOW_DISK_FLAG": str(flag)})
        try:
            node.start_agent()
        except Exception:  # pylint: disable=broad-except
            print("skipped: no OpenCL device", flush=True)
            sys.exit(0)
        flag.write_text("")
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(node.cli, "reprofile", "--kernel", "column_sum", "--budget", str(5 + i))
                       for i in range(WRITERS)]
            time.sleep(1)  # Until the first is at the disk.
            slowest = reads_are_quick(node, 15)
            check(slowest < MOST_S, f"the slowest read took {slowest:.1f} s while {WRITERS} writers wait for the disk")
            node.stop(node.agent)  # Devices that go are stored, too.
            slowest = reads_are_quick(node, 5)
            check(slowest < MOST_S, f"the slowest read took {slowest:.1f} s while a device is stored")
            os.unlink(flag)
            for writer in writers:
                writer.result()
        wait_until(lambda: node.json("status").get("jobs_queued") is not None, 30, "status answers")
        check(node.stop(node.daemon) == 0, "the daemon ends in order")


main(scenario)
