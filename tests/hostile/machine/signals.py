"""HUP reloads daemon and agent; TERM ends them in order, and at once while they start."""

import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, Node, check, main, wait_until  # pylint: disable=wrong-import-position


def ends_at_once(node, name, command, delay):
    """Starts a program, sends TERM soon after; returns its exit code and the seconds that took."""
    process = node.start(name, command)
    time.sleep(delay)
    begin = time.monotonic()
    code = node.stop(process)
    return code, time.monotonic() - begin


def only_for_the_owner(node):
    """What the command line says to a user without the right to admin.sock."""
    if os.geteuid() != 0:
        print("skipped: only root can be another user", flush=True)
        return
    command = [BIN / "wavetune", "reprofile", "--kernel", "column_sum"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, user=65534, group=65534,
                            extra_groups=[], env={**os.environ, "WAVETUNE_ENDPOINT": node.socket(), "HOME": "/tmp"})
    check("no permission on" in result.stderr and "Run it as" in result.stderr,
          f"who may not use admin.sock is told so: {result.stderr.strip()}")
    check("start one with" not in result.stderr, "and not told to start another")


def scenario():
    with Node() as node:
        node.add_kernel("column_sum")
        node.start_daemon()
        check(node.json("kernels", "list") is not None, "kernels are listed")
        before = len(node.cli("kernels", "list").stdout.splitlines())
        node.add_kernel("wrong_result")
        node.daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: len(node.cli("kernels", "list").stdout.splitlines()) > before, 20, "the new kernel is there")
        check(node.daemon.poll() is None, "HUP reloads the daemon")
        only_for_the_owner(node)

        agent = node.start_agent(wait=False)
        time.sleep(1)
        if agent.poll() is None:
            wait_until(lambda: agent.poll() is not None or node.json("status").get("devices_attached", 0) > 0, 120,
                       "a device is attached")
        if agent.poll() is None:
            agent.send_signal(signal.SIGHUP)
            wait_until(lambda: node.log("agent").count("reloading") == 1, 20, "the agent reloads")
            wait_until(lambda: node.json("status").get("devices_attached", 0) > 0, 120, "it attaches again")
            check(agent.poll() is None, "HUP reloads the agent")
            check(node.stop(agent) == 0, "TERM ends the agent in order")
        else:
            print("skipped: no OpenCL device", flush=True)
        check(node.stop(node.daemon) == 0, "TERM ends the daemon in order")
        check(not stat.S_ISSOCK(os.stat(node.folder).st_mode) and not (node.folder / "reader.sock").exists(),
              "its sockets are gone")

        for delay in (0.05, 0.1, 0.2, 0.4):
            code, seconds = ends_at_once(node, "early", [BIN / "wavetuned", "--store", node.folder / "early",
                                                         "--socket-dir", node.folder, "--kernels-dir", node.kernels],
                                         delay)
            check(code in (0, -signal.SIGTERM) and seconds < 5, f"TERM after {delay} s ends the start")
            code, seconds = ends_at_once(node, "early_agent",
                                         [BIN / "wavetune-agent", "--endpoint", node.folder / "agent.sock",
                                          "--backends", "opencl", "--cache-dir", node.folder / "programs"], delay)
            if code == 3:
                continue
            check(code in (0, -signal.SIGTERM) and seconds < 5, f"TERM after {delay} s ends an agent's start")


main(scenario)
