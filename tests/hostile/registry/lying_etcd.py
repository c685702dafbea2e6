"""Who is between a node and etcd lies: keys that were not asked for, pages without end, answers that would take
much memory, watches that are always compacted."""

import concurrent.futures
import os
import pathlib
import sys
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fleet import Fleet, field, fields  # pylint: disable=wrong-import-position
from node import check, main, wait_until  # pylint: disable=wrong-import-position

KERNEL = "repeats"
LIE_S = 8
HEADER = field(1, field(3, 5))  # Revision 5.
MORE = field(3, 1)
# Two bytes each, and a hundred in memory.
EMPTY = 1_900_000


class Relay(grpc.GenericRpcHandler):
    """Hands calls on to etcd, but for what `lie` says of it."""

    def __init__(self):
        self.lie = ""
        self.calls = 0
        self.watches = []
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(64), [self],
                                  options=[("grpc.max_send_message_length", -1),
                                           ("grpc.max_receive_message_length", -1)])
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.etcd = None

    def connect(self, port):
        self.etcd = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.max_receive_message_length", -1)])
        self.server.start()
        return self.port

    def set(self, lie):
        """From now on, also for watches that there are."""
        self.lie, self.calls = lie, 0
        for context in self.watches:
            context.cancel()
        self.watches = []

    def service(self, details):
        method = details.method
        if method.endswith("/Watch") or method.endswith("KeepAlive"):
            return grpc.stream_stream_rpc_method_handler(lambda requests, context: self.stream(method, requests, context))
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.unary(method, request, context))

    def unary(self, method, request, context):
        self.calls += 1
        asked = dict(fields(request))
        if method.endswith("/Range") and 2 in asked:
            if self.lie == "pages_without_entries":
                return HEADER + MORE
            if self.lie == "pages_without_end":
                return HEADER + MORE + field(2, field(1, asked[1] + b"x") + field(5, b"v" * (3 << 20)))
            if self.lie == "larger_than_an_answer":
                return HEADER + MORE + field(2, field(1, asked[1] + b"x") + field(5, b"v" * (8 << 20)))
            if self.lie == "empty_entries":
                return HEADER + field(2, b"") * EMPTY
            if self.lie == "other_keys":
                others = (b"", b"x", b"/wavetune/", b"heads/x", b"/wavetune/heads/")
                return HEADER + b"".join(field(2, field(1, key) + field(5, b"zz")) for key in others)
        if self.lie == "no_session" and method.endswith("LeaseGrant"):
            return field(3, 5)
        if self.lie == "garbage":
            return os.urandom(200)
        try:
            return self.etcd.unary_unary(method)(request, timeout=10)
        except grpc.RpcError as error:
            return context.abort(error.code(), error.details())

    def stream(self, method, requests, context):
        if method.endswith("KeepAlive"):
            for request in requests:
                yield from self.etcd.stream_stream(method)(iter([request]))
                return
        self.watches.append(context)
        if self.lie == "empty_events":
            for _ in requests:
                self.calls += 1
                yield HEADER + field(3, 1)
                yield HEADER + field(11, b"") * EMPTY
            return
        if self.lie == "always_compacted":
            for _ in requests:
                self.calls += 1
                yield HEADER + field(3, 1)
                yield HEADER + field(4, 1) + field(5, 10)
            return
        upstream = self.etcd.stream_stream(method)(requests)
        context.add_callback(upstream.cancel)
        try:
            yield from upstream
        except grpc.RpcError:
            pass


def processor_s(pid):
    numbers = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def scenario():
    relay = Relay()
    with Fleet(2, relay=relay.connect) as fleet:
        digest = fleet.serve(KERNEL)
        daemon = fleet.nodes[0].daemon
        for lie in ("other_keys", "pages_without_entries", "pages_without_end", "larger_than_an_answer",
                    "empty_entries", "empty_events", "always_compacted", "no_session", "garbage"):
            before = processor_s(daemon.pid)
            relay.set(lie)
            time.sleep(LIE_S)
            calls, took = relay.calls, processor_s(daemon.pid) - before
            fleet.check_all_serve(KERNEL, digest, f"beside {lie}")
            print(f"note: {calls} calls, {took:.1f} s of a processor in {LIE_S} s of {lie}", flush=True)
            # A listing may take some hundred answers, and is begun again after pauses that grow.
            check(calls < 1500, f"{lie} are not asked for without a pause")
            check(took < LIE_S, f"{lie} take no processor of their own")
            relay.set("")
            wait_until(lambda: fleet.registry_answers(0), 60, f"the registry answers after {lie}")
        fleet.check_all_serve(KERNEL, digest, "at the end")
    relay.server.stop(0)


main(scenario)
