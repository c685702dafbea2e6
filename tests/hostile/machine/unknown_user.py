"""A user that no passwd knows, without a home: agent, daemon and clients say what is wrong and work."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, Node, check, main  # pylint: disable=wrong-import-position

USER = 54321
BARE = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def as_nobody(command, environment, **options):
    """Runs as a user without a name, group or home."""
    return subprocess.run([*PREFIX, *map(str, command)], env={**BARE, **environment}, capture_output=True, text=True,
                          timeout=120, check=False, cwd="/", **options)


PREFIX = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


def scenario():
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        print("skipped: changing the user takes root and setpriv (util-linux)")
        return
    private = f"/tmp/wavetune-cache-{USER}"
    shutil.rmtree(private, ignore_errors=True)
    with Node() as node:
        node.add_kernel("column_sum")
        os.chmod(node.kernels, 0o755)
        for environment, name in (({}, "no HOME"), ({"HOME": "/"}, "HOME=/"), ({"HOME": "/root"}, "HOME=/root")):
            result = as_nobody([BIN / "wavetune-agent", "--backends", "opencl", "compile", "--kernel-dir",
                                node.kernels / "column_sum", "--sample", 2], environment)
            check(result.returncode == 0, f"{name}: the agent finds its device and compiles "
                                          f"{(result.stderr or result.stdout).strip()[-400:]}")
            check("HOME" in result.stderr and private in result.stderr, f"{name}: it says where it keeps programs")
        node.start_daemon()
        node.start_agent()
        node.serve_table("column_sum")
        for environment, name in (({}, "no HOME"), ({"HOME": "/"}, "HOME=/")):
            result = as_nobody([BIN / "wavetune", "resolve", "column_sum", "n=1000", "k=200", "--endpoint",
                                node.socket()], environment)
            check(result.returncode == 0 and "DEFAULT" not in result.stdout,
                  f"{name}: a client decides {result.stderr.strip()}")
            check(any(entry.endswith(".table") for entry in os.listdir(private)), f"{name}: and keeps its table")
        node.stop(node.daemon)
        result = as_nobody([BIN / "wavetune", "resolve", "column_sum", "n=1000", "k=200", "--endpoint",
                            node.socket()], {})
        check("from the local cache" in result.stdout, "with the daemon down it decides from there")
        # A cache that somebody else made is no cache, and that is said.
        shutil.rmtree(private)
        os.mkdir(private, 0o777)
        os.chmod(private, 0o777)
        result = as_nobody([BIN / "wavetune-agent", "--backends", "opencl", "compile", "--kernel-dir",
                            node.kernels / "column_sum", "--sample", 1], {})
        check("there is no cache" in result.stderr, "a cache that others can write is refused, and said")
    shutil.rmtree(private, ignore_errors=True)


main(scenario)
