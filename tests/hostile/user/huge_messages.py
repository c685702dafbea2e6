"""Another user's 60 MB messages, many at once: a thousand watchers of this user go on."""

import os
import pathlib
import resource
import subprocess
import sys

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, peak_memory_mib, proto  # pylint: disable=wrong-import-position

WATCHERS = 1000
MOST_MIB = 384  # The unit's limit is 512.

ATTACK = """
import concurrent.futures, grpc, sys
request = b"\\x22\\x00" * 30_000_000
def send(_):
    with grpc.insecure_channel(sys.argv[1], [("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = channel.unary_unary("/wavetune.v1.DecisionService/Resolve", request_serializer=None,
                                   response_deserializer=None)
        try:
            call(request, timeout=60)
        except grpc.RpcError as error:
            return error.code().name
        return "OK"
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sorted(set(pool.map(send, range(16)))))
"""


def scenario():
    if os.geteuid() != 0:
        print("skipped: only root can be another user", flush=True)
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
    with Node() as node:
        node.start_daemon()
        request = proto("table_service_pb2").WatchTablesRequest()
        stubs = proto("table_service_pb2_grpc")
        channels, streams = [], []
        for _ in range(WATCHERS):
            channels.append(grpc.insecure_channel(node.socket(), [("grpc.use_local_subchannel_pool", 1)]))
            streams.append(stubs.TableServiceStub(channels[-1]).WatchTables(request))
            next(streams[-1])
        check(node.json("status")["watchers"] == WATCHERS, f"{WATCHERS} watch")
        print(f"note: {memory_mib(node.daemon.pid):.0f} MiB with them", flush=True)
        check(memory_mib(node.daemon.pid) < 128, "the daemon is within its budget")
        attack = subprocess.run([sys.executable, "-c", ATTACK, node.socket()], user=65534, group=65534,
                                extra_groups=[], capture_output=True, text=True, check=False, cwd="/")
        print(f"note: the other user was answered {attack.stdout.strip()} {attack.stderr.strip()[-300:]}", flush=True)
        check(attack.returncode == 0 and "OK" not in attack.stdout, "the other user is refused")
        check(node.json("status")["watchers"] == WATCHERS, "every watcher is still there")
        print(f"note: at most {peak_memory_mib(node.daemon.pid):.0f} MiB", flush=True)
        check(peak_memory_mib(node.daemon.pid) < MOST_MIB, f"the daemon stayed below {MOST_MIB} MiB")
        for stream in streams:
            stream.cancel()
        for channel in channels:
            channel.close()


main(scenario)
