"""A program cache that is full, becomes full, or is read-only: programs are compiled all the same."""

import contextlib
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cgroup import skip  # pylint: disable=wrong-import-position
from node import Node, check, main  # pylint: disable=wrong-import-position


@contextlib.contextmanager
def small_disk(folder, mib):
    """A file system of its own."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)],
                             capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(folder):
    with contextlib.suppress(OSError), open(folder / "ballast", "wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)


def profile(node, what, *arguments):
    job = node.wait_for_job(node.reprofile("column_sum", *arguments))
    check(job["state"] == "SUCCEEDED" and not job["excluded"], f"{what}: {job['message']}")


def scenario():
    with Node() as node, small_disk(node.folder / "disk", 16) as disk:
        node.add_kernel("column_sum")
        node.start_daemon()
        spare = node.folder / "tmp"
        spare.mkdir()

        def start_agent():
            node.start_agent("--cache-dir", disk / "programs", environment={"TMPDIR": str(spare)})

        def times_told():
            return node.log("agent").count("compiled programs cannot be kept in")

        start_agent()
        fill(disk)
        profile(node, "a cache that becomes full while the agent runs")
        check(times_told() == 1, "the log says so once")
        check((spare / f"wavetune-{os.geteuid()}/pocl").is_dir(), "programs are compiled in a folder of the user's own")
        node.stop(node.agent)

        start_agent()
        profile(node, "a cache that is full from the start", "--fresh")
        node.stop(node.agent)

        (disk / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        start_agent()
        profile(node, "a read-only cache", "--fresh")
        node.stop(node.agent)
        check(times_told() == 3, "each agent says it once")

        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        start_agent()
        profile(node, "a cache with space again", "--fresh")
        check(times_told() == 3, "of which there is nothing to say")
        check(any((disk / "programs/pocl").iterdir()), "it is used again")


main(scenario)
