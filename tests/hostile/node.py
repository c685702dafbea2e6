"""A node of real processes for one hostile scenario: wavetuned, wavetune-agent and the command line.

A scenario is a program in machine/, user/ or registry/ that exits with 0 where the node held up:

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from node import Node, check, main  # pylint: disable=wrong-import-position

    def scenario():
        with Node() as node:
            node.start_daemon()
            check(node.cli("status").returncode == 0, "status answers")

    main(scenario)

Run by `scripts/soak.sh hostile_machine hostile_user hostile_registry`, or alone: `python3 tests/hostile/user/NAME.py`.
WAVETUNE_BIN_DIR names the folder of the programs (default: build/dev/bin of this checkout).
Every server listens on unix sockets in the scenario's own folder; every process started is ended by its id.
"""

import contextlib
import importlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("WAVETUNE_BIN_DIR", ROOT / "build/dev/bin"))


class Failed(Exception):
    """Something that had to hold did not."""


def check(condition, what):
    """Prints what was checked; raises Failed where it does not hold."""
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        raise Failed(what)


def wait_until(condition, seconds=60, what="the condition"):
    """Polls until `condition()` is true; raises Failed after `seconds`. Returns its value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise Failed(f"{what}: not within {seconds} s")


def memory_mib(pid):
    """Resident memory of a process in MiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise Failed(f"process {pid} has no memory: it has ended")


def peak_memory_mib(pid):
    """Largest resident memory that a process ever had, in MiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise Failed(f"process {pid} has no memory: it has ended")


class Node:
    """Daemon and agent with a store, sockets, logs and caches in one folder, removed at the end."""

    def __init__(self, folder=None, bins=None):
        """`bins`: folders of programs that are not in BIN, by program: {"wavetuned": older / "bin"}."""
        self.bins = bins or {}
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="wavetune-hostile-", dir="/tmp"))
        os.chmod(self.folder, 0o755)
        self.store = self.folder / "store"
        self.kernels = self.folder / "kernels"
        self.kernels.mkdir(exist_ok=True)
        self.processes = []
        self.daemon = None
        self.agent = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for process in reversed(self.processes):
            self.stop(process)
        if error is not None:
            for log in sorted(self.folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text(errors='backslashreplace')[-4000:]}", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def socket(self, name="reader"):
        """A gRPC target: reader, agent or admin."""
        return f"unix:{self.folder}/{name}.sock"

    def add_kernel(self, name):
        """Copies a kernel of tests/data/kernels or kernels into the node's kernels folder."""
        source = ROOT / "tests/data/kernels" / name
        if not source.exists():
            source = ROOT / "kernels" / name
        shutil.copytree(source, self.kernels / name)

    def start(self, name, command, wrapper=(), environment=None, **options):
        """Starts a program with its output in NAME.log; `wrapper` goes before it (prlimit, systemd-run, ...)."""
        log = open(self.folder / f"{name}.log", "ab")
        process = subprocess.Popen([*wrapper, *map(str, command)], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **(environment or {})}, **options)
        log.close()
        self.processes.append(process)
        return process

    def program(self, name):
        """The path of one of the three programs."""
        return self.bins.get(name, BIN) / name

    def start_daemon(self, *arguments, wait=True, **options):
        self.daemon = self.start("daemon", [self.program("wavetuned"), "--store", self.store, "--socket-dir", self.folder,
                                            "--kernels-dir", self.kernels, "--log-level", "info", *arguments], **options)
        if wait:
            wait_until(lambda: self.daemon.poll() is not None or self.cli("status").returncode == 0, 60,
                       "the daemon answers")
            check(self.daemon.poll() is None, "the daemon runs")
        return self.daemon

    def start_agent(self, *arguments, wait=True, **options):
        defaults = {"--backends": "opencl", "--cache-dir": self.folder / "programs", "--prepare-workers": 2}
        unnamed = [part for name, value in defaults.items() if name not in arguments for part in (name, value)]
        self.agent = self.start("agent", [self.program("wavetune-agent"), "--endpoint", self.folder / "agent.sock",
                                          *unnamed, *arguments], **options)
        if wait:
            wait_until(lambda: self.agent.poll() is not None
                       or self.json("status").get("devices_attached", 0) > 0, 120, "a device is attached")
            check(self.agent.poll() is None, "the agent runs")
        return self.agent

    def cli(self, *arguments, timeout=240, environment=None, **options):
        """Runs `wavetune ARGUMENTS`; returns a CompletedProcess with text output."""
        return subprocess.run([self.program("wavetune"), *map(str, arguments)], capture_output=True, timeout=timeout,
                              encoding="utf-8", errors="surrogateescape", stdin=subprocess.DEVNULL,
                              env={**os.environ, "WAVETUNE_ENDPOINT": self.socket(),
                                   "WAVETUNE_CACHE_DIR": str(self.folder / "tables"), **(environment or {})}, **options)

    def json(self, *arguments):
        """The answer of `wavetune ARGUMENTS --json`; {} where it failed."""
        try:
            answer = json.loads(self.cli(*arguments, "--json").stdout)
        except ValueError:
            return {}
        return answer if isinstance(answer, dict) else {}

    def reprofile(self, kernel, *arguments, samples=8):
        """Queues a profile of few samples; returns the job's id."""
        result = self.cli("reprofile", "--kernel", kernel, "--samples-per-candidate", samples, "--portfolio", 4,
                          "--json", *arguments)
        check(result.returncode == 0, f"reprofile {kernel} is queued {result.stderr.strip()}")
        return json.loads(result.stdout)["jobs"][0]["id"]

    def wait_for_job(self, job, seconds=300):
        """The job's record once it has ended."""
        def ended():
            record = self.json("jobs", "show", job)
            return record if record.get("state") in ("SUCCEEDED", "FAILED", "CANCELLED") else None
        return wait_until(ended, seconds, f"job {job} ends")

    def serve_table(self, kernel):
        """Profiles until a table of the kernel serves; returns its digest. One profile may not do: of a small kernel on a busy
        machine the default may look faster, and then nothing is promoted."""
        for samples in (8, 16, 12, 20, 24, 10):
            job = self.wait_for_job(self.reprofile(kernel, "--fresh", samples=samples))
            check(job["state"] == "SUCCEEDED", f"a profile ends {job.get('message', '')}")
            tables = self.json("tables", "list", "--kernel", kernel).get("tables", [])
            if tables:
                return tables[0]["digest"]
        raise Failed(f"no table of {kernel} was promoted within six profiles")

    def log(self, name="daemon"):
        return (self.folder / f"{name}.log").read_text(errors="backslashreplace")

    def stop(self, process, sig=signal.SIGTERM, seconds=30):
        """Ends one process that this node started; returns its exit code."""
        if process.poll() is None:
            process.send_signal(sig)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return process.returncode


_generated = None


def proto(name):
    """The Python module of a file in proto/wavetune/v1: proto("table_service_pb2"), proto("table_service_pb2_grpc").

    Needs protoc, grpc_python_plugin, python3-protobuf and python3-grpcio, as Debian ships them.
    """
    global _generated
    if _generated is None:
        _generated = tempfile.TemporaryDirectory(prefix="wavetune-proto-")
        files = sorted(str(path) for path in (ROOT / "proto/wavetune/v1").glob("*.proto"))
        subprocess.run(["protoc", f"-I{ROOT / 'proto'}", f"--python_out={_generated.name}",
                        f"--grpc_python_out={_generated.name}",
                        f"--plugin=protoc-gen-grpc_python={shutil.which('grpc_python_plugin')}", *files], check=True)
        sys.path.insert(0, _generated.name)
    return importlib.import_module(f"wavetune.v1.{name}")


@contextlib.contextmanager
def stub(target, service):
    """A gRPC stub: `with stub(node.socket(), "TableService") as tables: tables.ListTables(...)`."""
    import grpc  # pylint: disable=import-outside-toplevel
    file = "".join("_" + c.lower() if c.isupper() else c for c in service).lstrip("_")
    with grpc.insecure_channel(target) as channel:
        yield getattr(proto(f"{file}_pb2_grpc"), f"{service}Stub")(channel)


def main(scenario):
    """Runs a scenario; the exit code says whether the node held up."""
    started = time.monotonic()
    try:
        scenario()
    except Failed as failed:
        print(f"FAILED: {failed}", flush=True)
        sys.exit(1)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        sys.exit(1)
    print(f"held up in {time.monotonic() - started:.1f} s", flush=True)
