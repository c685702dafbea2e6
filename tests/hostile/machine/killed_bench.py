"""`wavetune bench --local` ended by kill -9: its daemon, its agent and their workers end, too."""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, Node, check, main, wait_until  # pylint: disable=wrong-import-position


def descendants(pid):
    """Processes below `pid`, by what /proc says now."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, below = [], [pid]
    while below:
        below = [child for parent in below for child in children.get(parent, [])]
        found += below
    return found


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def programs(pids):
    names = []
    for pid in pids:
        try:
            names.append(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode())
        except OSError:
            pass
    return names


def scenario():
    with Node() as node:
        node.add_kernel("column_sum")
        shapes = node.folder / "shapes.csv"
        shapes.write_text("n,k\n1000,200\n")
        scratch = node.folder / "tmp"
        scratch.mkdir()
        for round_, wait in enumerate((0.5, 4)):
            bench = node.start(f"bench{round_}", [BIN / "wavetune", "bench", "--local", "column_sum", "--shapes", shapes,
                                                  "--kernels-dir", node.kernels],
                               environment={"TMPDIR": str(scratch), "XDG_CACHE_HOME": str(node.folder / "cache")})
            wait_until(lambda: bench.poll() is not None or len(descendants(bench.pid)) >= 2, 30,
                       "daemon and agent start")
            time.sleep(wait)
            children = descendants(bench.pid)
            check(len(children) >= 2, f"bench --local runs {len(children)} processes")
            os.kill(bench.pid, signal.SIGKILL)
            bench.wait()
            wait_until(lambda: not any(alive(pid) for pid in children), 30,
                       f"all of them end: {programs(children)}")
            check(not any(alive(pid) for pid in children), "none of them is left")


main(scenario)
