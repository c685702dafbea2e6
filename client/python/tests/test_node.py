"""A node of real processes: wavetuned and wavetune-agent, as built here, profile a small kernel on this machine's CPU."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import tables

import wavetune
from wavetune import EventKind, Origin, Reason, Source

BIN = Path(os.environ.get("WAVETUNE_BIN_DIR", tables.ROOT / "build" / "dev" / "bin"))
PROGRAMS = ("wavetuned", "wavetune-agent", "wavetune")
NO_DEVICE = 3  # Exit code of wavetune-agent.
DEADLINE_S = 120

pytestmark = pytest.mark.skipif(
    not all((BIN / program).exists() for program in PROGRAMS), reason=f"no programs in {BIN}: build them first"
)


class Node:
    """Processes on sockets in a scratch folder; a short path, because a socket's has at most 107 characters."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wavetune-test-", dir="/tmp"))
        self.endpoint = f"unix:{self.folder}/reader.sock"
        self.cache = self.folder / "tables"
        self.processes = []
        shutil.copytree(tables.ROOT / "tests" / "data" / "kernels" / "repeats", self.folder / "kernels" / "repeats")

    def start(self, *command):
        with open(self.folder / f"{command[0]}.log", "ab") as log:
            process = subprocess.Popen([BIN / command[0], *map(str, command[1:])], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def start_daemon(self):
        daemon = self.start(
            "wavetuned", "--store", self.folder / "store", "--socket-dir", self.folder,
            "--kernels-dir", self.folder / "kernels",
        )  # fmt: skip
        self.wait_until(lambda: self.cli("status") is not None, daemon)
        return daemon

    def start_agent(self):
        agent = self.start(
            "wavetune-agent", "--endpoint", self.folder / "agent.sock", "--backends", "opencl",
            "--cache-dir", self.folder / "programs", "--prepare-workers", "2", "--nice", "0",
        )  # fmt: skip
        self.wait_until(lambda: (self.cli("status") or {}).get("devices_attached", 0) > 0, agent)

    def cli(self, *arguments):
        """Returns what a command says as JSON; None where it failed."""
        environment = {**os.environ, "WAVETUNE_ENDPOINT": self.endpoint, "WAVETUNE_CACHE_DIR": str(self.cache)}
        result = subprocess.run(
            [BIN / "wavetune", *arguments, "--json"], env=environment, capture_output=True, text=True, check=False
        )
        return json.loads(result.stdout) if result.returncode == 0 else None

    def profile(self):
        options = ("--kernel", "repeats", "--samples-per-candidate", "8", "--portfolio", "4")
        job = str(self.cli("reprofile", *options)["jobs"][0]["id"])
        ended = ("SUCCEEDED", "FAILED", "CANCELLED")
        self.wait_until(lambda: self.cli("jobs", "show", job)["state"] in ended)
        assert self.cli("jobs", "show", job)["state"] == "SUCCEEDED", self.logs()

    def wait_until(self, condition, process=None):
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            if process is not None and process.poll() == NO_DEVICE:
                pytest.skip("no OpenCL device here")
            assert process is None or process.poll() is None, self.logs()
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.02)

    def logs(self):
        return "\n".join(log.read_text() for log in self.folder.glob("*.log"))

    def stop(self):
        for process in reversed(self.processes):  # The agent first: its workers end with it.
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def daemon_only():
    node = Node()
    try:
        node.daemon = node.start_daemon()
        yield node
    finally:
        node.stop()


def test_a_kernel_without_a_table_is_answered_with_its_default(daemon_only):
    tuner = wavetune.connect(daemon_only.endpoint, cache_dir=None, timeout_s=20).tuner("repeats")
    decision = tuner.resolve(n=700, k=700)
    assert (decision.source, decision.reason) == (Source.DEFAULT, Reason.NO_TABLE)
    measured = [(argument.role, argument.type) for argument in tuner.arguments]
    assert ("output", "float32") in measured and ("scalar", "int32") in measured
    assert decision.configuration == {"BLOCK_N": 64, "REPEAT": 8}
    assert (tuner.origin, tuner.digest, decision.digest_prefix) == (Origin.DEFAULTS, "", "")
    assert tuner.configurations == ({"BLOCK_N": 64, "REPEAT": 8},)
    assert "no table" in repr(tuner)


def test_a_kernel_says_what_its_manifest_says_and_which_table_there_is_not(daemon_only):
    client = wavetune.connect(daemon_only.endpoint, cache_dir=None, timeout_s=20)
    kernel = client.kernel("repeats")
    assert (kernel.name, kernel.parameters, kernel.experts) == ("repeats", ("BLOCK_N", "REPEAT"), None)
    assert kernel == client.kernel(str(daemon_only.folder / "kernels" / "repeats"))
    assert kernel.arguments == client.tuner("repeats").arguments
    with pytest.raises(wavetune.NotFoundError, match="repeats"):
        client.table("repeats")


def test_an_unknown_kernel_or_device_lists_the_known(daemon_only):
    client = wavetune.connect(daemon_only.endpoint, cache_dir=None, timeout_s=20)
    with pytest.raises(wavetune.NotFoundError, match='no valid kernel "gemm"; it has: repeats'):
        client.tuner("gemm")
    with pytest.raises(LookupError, match="GPU-7"):
        client.tuner("repeats", device="GPU-7")


@pytest.fixture(scope="module")
def profiled(daemon_only):
    """The node with a table, which a client heard of: its tuners are of before."""
    node = daemon_only
    node.start_agent()
    everything = [{"BLOCK_N": block, "REPEAT": repeat} for block in (16, 32, 64) for repeat in (1, 8)]
    node.client = wavetune.connect(node.endpoint, cache_dir=None, timeout_s=20)
    node.prepared = node.client.tuner("repeats", prepared=everything)
    node.waiting = node.client.tuner("repeats")
    assert (node.prepared.digest, node.waiting.digest) == ("", "")
    node.profile()
    return node


def test_a_new_table_takes_over_where_all_of_it_is_prepared_and_waits_elsewhere(profiled):
    node = profiled
    node.wait_until(lambda: node.prepared.digest != "" and node.waiting.staged is not None)
    assert (node.waiting.digest, node.waiting.staged.digest) == ("", node.prepared.digest)
    events = node.client.events
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    activated = [(event.kernel, event.digest) for event in events if event.kind is EventKind.ACTIVATED]
    assert activated == [("repeats", node.prepared.digest)]


def test_a_client_declares_the_model_that_it_serves(daemon_only):
    config = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128}
    config |= {"num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256}
    client = wavetune.connect(daemon_only.endpoint, cache_dir=None)
    declared = client.add_workload("llama", config, tensor_parallel=2, max_tokens=4096)
    assert (declared.architecture, declared.unchanged) == ("LlamaForCausalLM", False)
    assert declared.problems == {}  # The node's kernel serves no layers.
    assert client.add_workload("llama", json.dumps(config), tensor_parallel=2, max_tokens=4096).unchanged
    scalar = SimpleNamespace(tolist=lambda: 64)  # As numbers of numpy and torch are.
    assert client.add_workload("llama", config | {"hidden_size": scalar}, tensor_parallel=2, max_tokens=4096).unchanged
    limits = config | {"time_step_limit": [0.0, float("inf")], "dtype": object()}
    assert not client.add_workload("limits", limits).unchanged
    listed = {each["name"]: each["max_tokens"] for each in daemon_only.cli("workload", "list")["workloads"]}
    assert listed == {"limits": 16384, "llama": 4096}
    config |= {"num_experts": 2, "num_experts_per_tok": 1}
    client.add_workload("llama", config, routing=[[3, 1], [0, 4]])
    routings = {each["name"]: each["routing"] for each in daemon_only.cli("workload", "list")["workloads"]}
    assert routings["llama"] == {"popularity": "RECORDED", "counts": [7, 1]}
    with pytest.raises(wavetune.InvalidArgumentError, match="counts of 3 experts, the layer has 2"):
        client.add_workload("llama", config, routing=[1, 2, 3])
    with pytest.raises(wavetune.InvalidArgumentError, match="4, which --tp 3 does not divide"):
        client.add_workload("llama", config, tensor_parallel=3)
    with pytest.raises(wavetune.InvalidArgumentError, match="no JSON, or cut off"):
        client.add_workload("llama", b'{"hidden_size": 64')


def test_a_client_reports_its_use_unless_told_otherwise(profiled, monkeypatch):
    monkeypatch.delenv("WAVETUNE_USAGE", raising=False)
    for options, reported in (({"usage_feedback": False}, 0), ({}, 7)):
        client = wavetune.connect(profiled.endpoint, cache_dir=None, timeout_s=20, **options)
        tuner = client.tuner("repeats")
        for _ in range(7):
            tuner.resolve(n=700, k=700)
        del tuner, client  # Reports what is left.
        usage = profiled.cli("status")["usage"]["kernels"]
        assert sum(sum(kernel["counts"].values()) for kernel in usage) == pytest.approx(reported, rel=1e-3)  # It fades, by the hour.


def test_a_profiled_kernel_is_decided_as_the_command_line_does_and_goes_on_without_the_daemon(profiled):
    node = profiled
    tuner = wavetune.connect(node.endpoint, cache_dir=node.cache, timeout_s=20).tuner("repeats")
    assert tuner.origin is Origin.DAEMON
    assert tuner.dimensions[0] == wavetune.Dimension("n", 1, 65536, False)
    for n, k in ((700, 700), (512, 1024), (65536, 65536), (65537, 1)):
        decision = tuner.resolve(n=n, k=k)
        expected = node.cli("resolve", "repeats", f"n={n}", f"k={k}")
        if expected is None:  # The command takes an extent out of range for an error.
            assert decision.source is Source.DEFAULT
            continue
        assert decision.configuration == expected["configuration"]
        assert decision.source.name == expected["source"]
        assert decision.latency_us == expected["latency_us"]
        assert expected["digest"] == tuner.digest
    with pytest.raises(ValueError, match='unknown dimension "m", missing dimension "n"; its dimensions are "n", "k"'):
        tuner.resolve(m=1, k=1)

    node.daemon.kill()
    node.daemon.wait()
    assert tuner.resolve(n=700, k=700).source in (Source.FITTED, Source.EXTRAPOLATED)
    cached = wavetune.connect(node.endpoint, cache_dir=node.cache, timeout_s=2).tuner("repeats")
    assert (cached.origin, cached.digest) == (Origin.CACHE, tuner.digest)
    assert cached.resolve(n=700, k=700).configuration == tuner.resolve(n=700, k=700).configuration
