"""Two daemons with a store each and one socket folder, started in the same moment, 200 times: one serves, the other says who.

WAVETUNE_RACES says how many times.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, Failed, check, main  # pylint: disable=wrong-import-position

RACES = int(os.environ.get("WAVETUNE_RACES", "200"))
SOCKETS = ("reader.sock", "agent.sock", "admin.sock")


def listens(path):
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def start(folder, store):
    return subprocess.Popen([BIN / "wavetuned", "--store", folder / store, "--socket-dir", folder, "--log-level", "error"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def race(folder, number):
    daemons = [start(folder, store) for store in ("a", "b")]
    try:
        deadline = time.monotonic() + 60
        while all(daemon.poll() is None for daemon in daemons):
            if time.monotonic() > deadline:
                raise Failed(f"race {number}: both daemons serve")
            time.sleep(0.005)
        losers = [daemon for daemon in daemons if daemon.poll() is not None]
        if len(losers) != 1:
            raise Failed(f"race {number}: both ended: {[daemon.stderr.read() for daemon in losers]}")
        winner = next(daemon for daemon in daemons if daemon.poll() is None)
        text = losers[0].stderr.read()
        if losers[0].returncode != 1 or not re.search(rf"\(pid {winner.pid}\)", text):
            raise Failed(f"race {number}: the loser ended with {losers[0].returncode} and does not name {winner.pid}: {text}")
        while not all(listens(folder / name) for name in SOCKETS):
            if time.monotonic() > deadline or winner.poll() is not None:
                raise Failed(f"race {number}: the winner does not listen on all sockets")
            time.sleep(0.005)
        # Now and then an orderly end; else dead sockets stay for the next two.
        winner.send_signal(signal.SIGTERM if number % 20 == 0 else signal.SIGKILL)
        winner.wait(30)
        if number % 20 == 0 and any((folder / name).exists() for name in SOCKETS):
            raise Failed(f"race {number}: an orderly end leaves sockets behind")
    finally:
        for daemon in daemons:
            if daemon.poll() is None:
                daemon.kill()
            daemon.wait()
            daemon.stderr.close()


def scenario():
    # In memory where there is room: a start waits for little else than the disk.
    memory = pathlib.Path("/dev/shm")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="wavetune-race-", dir=memory if memory.is_dir() else "/tmp"))
    try:
        for number in range(RACES):
            race(folder, number)
        check(True, f"of {RACES} races each had one winner, whose sockets stayed, and a loser that named it")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main(scenario)
