"""A fleet for hostile scenarios: an etcd of its own, nodes with scripted devices, and somebody who may write to that etcd.

    with Fleet(2) as fleet:
        fleet.serve("repeats")
        fleet.etcd.put(f"heads/{fleet.place}/x", os.urandom(1 << 20))
        fleet.check_all_serve("repeats", "beside a head of a MiB")

All of it listens on loopback and unix sockets. Needs etcd, openssl, python3-grpcio.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import grpc

from node import Node, check, memory_mib, peak_memory_mib, proto, wait_until
from scripted_agent import ScriptedAgent, serve_in_background

PREFIX = b"/wavetune/"
SILICON = "backend=opencl;arch=x86-64;mp=4;memory_mib=0;partition="
ENVIRONMENT = "driver=;runtime=;power_w=0"
# A node at rest takes some 40.
MOST_MIB = 200


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def field(number, value):
    """A field of a protobuf message: bytes, or a number that is not 0."""
    def varint(n):
        out = bytearray()
        while n >= 128:
            out.append(n & 127 | 128)
            n >>= 7
        return bytes(out) + bytes([n])
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def fields(message):
    """The fields of a message, as a list of (number, bytes or number)."""
    found, at = [], 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            found.append((tag >> 3, message[at:at + size]))
            at += size
        else:
            found.append((tag >> 3, varint()))
    return found


class Etcd:
    """A real etcd, and calls of it that do not go through a node."""

    def __init__(self, folder, *arguments):
        self.port = free_port()
        peer = f"http://127.0.0.1:{free_port()}"
        client = f"http://127.0.0.1:{self.port}"
        with open(folder / "etcd.log", "ab") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name=test", f"--data-dir={folder}/etcd", f"--listen-client-urls={client}",
                 f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
                 f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=test={peer}", *arguments],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}", [("grpc.max_receive_message_length", -1)])
        wait_until(self._answers, 60, "etcd answers")

    def _answers(self):
        try:
            return self.get("x") is None
        except grpc.RpcError:
            return False

    def call(self, method, request):
        """Again where etcd, on a busy machine, is behind with its disk."""
        for patience in (True, True, True, False):
            try:
                return self.channel.unary_unary(f"/etcdserverpb.{method}")(request, timeout=30)
            except grpc.RpcError as error:
                if not patience or error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                    raise
                time.sleep(1)
        return None

    def put(self, key, value, lease=0):
        self.call("KV/Put", field(1, PREFIX + key.encode()) + field(2, value) + (field(3, lease) if lease else b""))

    def get(self, key):
        for number, entry in fields(self.call("KV/Range", field(1, PREFIX + key.encode()))):
            if number == 2:
                return dict(fields(entry)).get(5, b"")
        return None

    def keys(self, prefix):
        begin = PREFIX + prefix.encode()
        answer = self.call("KV/Range", field(1, begin) + field(2, begin[:-1] + bytes([begin[-1] + 1])) + field(8, 1))
        return [dict(fields(entry))[1].decode() for number, entry in fields(answer) if number == 2]

    def delete(self, prefix):
        begin = PREFIX + prefix.encode()
        self.call("KV/DeleteRange", field(1, begin) + field(2, begin[:-1] + bytes([begin[-1] + 1])))

    def grant(self, seconds):
        """A lease that nobody keeps alive."""
        return dict(fields(self.call("Lease/LeaseGrant", field(1, seconds))))[2]

    def stop(self):
        self.channel.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


class Key:
    """A signing key in a file, as a node has one."""

    def __init__(self, path):
        self.path = path
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True, capture_output=True)
        os.chmod(path, 0o600)
        public = subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-outform", "DER"], check=True,
                                capture_output=True).stdout
        self.public = public[-32:].hex()

    def envelope(self, purpose, content):
        """What a node would write: `content`, signed for a purpose."""
        with tempfile.NamedTemporaryFile() as text:
            text.write(f"wavetune fleet {purpose} 1\n".encode() + content)
            text.flush()
            signature = subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", self.path, "-rawin", "-in", text.name],
                                       check=True, capture_output=True).stdout
        return proto("fleet_pb2").FleetEnvelope(format=1, content=content, public_key=self.public,
                                                signature=signature).SerializeToString()


class TurningAgent(ScriptedAgent):
    """A device on which larger values are faster, and smaller ones once it has `turned`: another table is better then."""

    turned = False

    def measure(self, batch):
        for i, item in enumerate(batch.requests):
            product = 1
            for value in item.configuration.values:
                product *= max(value, 1)
            self.send(self.sample(batch.batch_id, i, float(product) if TurningAgent.turned else 1e4 / product))
            self.measured += 1
        self.done(batch)


class Fleet:
    """Nodes of one class, which have a scripted device each. `relay`: called with etcd's port, returns another one, which
    the first node uses."""

    def __init__(self, count, kernels=("repeats",), relay=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wavetune-fleet-", dir="/tmp"))
        self.place = hashlib.sha256(f"{len(SILICON)} {SILICON}{ENVIRONMENT}".encode()).hexdigest()[:16]
        self.nodes, self.agents, self.channels = [], [], []
        TurningAgent.turned = False
        self.etcd = Etcd(self.folder)
        self.keys = [Key(self.folder / f"key-{i}") for i in range(count)]
        self.trust = self.folder / "trust"
        self.trust.write_text("".join(f"{key.public} * node-{i}\n" for i, key in enumerate(self.keys)))
        os.chmod(self.trust, 0o644)
        self.ports = [relay(self.etcd.port) if relay and i == 0 else self.etcd.port for i in range(count)]
        for i in range(count):
            (self.folder / f"node-{i}").mkdir()
            node = Node(self.folder / f"node-{i}")
            for kernel in kernels:
                node.add_kernel(kernel)
            self.nodes.append(node)
            self.start(i)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for agent in self.agents:
            agent.close()
        for channel in self.channels:
            channel.close()
        for node in self.nodes:
            node.__exit__(kind, error, trace)
        self.etcd.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, i):
        """Starts a node, or starts it again, and attaches its device."""
        node = self.nodes[i]
        node.start_daemon("--fleet", f"etcd://127.0.0.1:{self.ports[i]}", "--fleet-trust", self.trust, "--fleet-key",
                          self.keys[i].path, "--fleet-node", f"node-{i}", "--fleet-session", "5")
        channel = grpc.insecure_channel(node.socket("agent"), [("grpc.use_local_subchannel_pool", 1)])
        self.channels.append(channel)
        attached = TurningAgent(channel, [f"GPU-{i}"])
        attached.await_hello()
        self.agents.append(serve_in_background(attached))

    def restart(self, i):
        node = self.nodes[i]
        node.stop(node.daemon, signal.SIGKILL)
        self.start(i)

    def digest(self, i, kernel):
        """What a node serves of a kernel; empty: nothing."""
        tables = self.nodes[i].json("tables", "list", "--kernel", kernel).get("tables", [])
        return tables[0]["digest"] if tables else ""

    def serve(self, kernel):
        """The first node profiles; returns the digest when all serve it."""
        digest = self.nodes[0].serve_table(kernel)
        wait_until(lambda: all(self.digest(i, kernel) == digest for i in range(len(self.nodes))), 60,
                   f"all nodes serve {kernel}")
        return digest

    def registry_answers(self, i):
        answer = self.nodes[i].json("fleet", "status")
        return "node" in answer and not answer.get("outage")

    def check_all_serve(self, kernel, digest, when):
        """Nodes live, serve, answer soon, and take little memory."""
        for i, node in enumerate(self.nodes):
            check(node.daemon.poll() is None, f"node-{i} lives {when}")
            began = time.monotonic()
            check(self.digest(i, kernel) == digest, f"node-{i} serves {when}")
            check(time.monotonic() - began < 20, f"node-{i} answers soon {when}")
            peak = peak_memory_mib(node.daemon.pid)
            print(f"note: node-{i}: {memory_mib(node.daemon.pid):.0f} MiB, at most {peak:.0f}, {when}", flush=True)
            check(peak < MOST_MIB, f"node-{i} takes less than {MOST_MIB} MiB {when}")


def in_parallel(calls):
    """Makes calls of etcd, some at once."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for call in [pool.submit(one) for one in calls]:
            call.result()
