"""Workloads of a user who means no good: files that are no model, or cost the most that 1 MiB can, names of others, more than there is room
for. The daemon serves on, within its memory, and the owner's workloads stay."""

import os
import pathlib
import subprocess
import sys

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, peak_memory_mib, proto, wait_until  # pylint: disable=wrong-import-position

MOST_MIB = 384  # The unit's limit is 512.
MIB = 1 << 20
MODEL = (b'{"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, '
         b'"num_attention_heads": 4, "vocab_size": 256, "pad": "%s"}')
COSTLY = [b"[" * MIB, b"[" + b"[]," * (MIB // 3 - 1) + b"0]", b'{"a":' * (MIB // 5), b'{"layer_types":[' + b"0," * (MIB // 2 - 20) + b"0]}",
          b'{"hidden_size":' + b"[" * (MIB // 2 - 20) + b"]" * (MIB // 2 - 20) + b"}", b"\xff" * MIB,
          b'{"hidden_size": 1e999}', b'"' + b"\\u0000" * (MIB // 6 - 1) + b'"', b""]


def attack(target, user):
    """As another user: prints the codes that costly files, a name of another, and workloads without end are answered with."""
    messages = proto("workload_service_pb2")
    services = proto("workload_service_pb2_grpc")
    os.setgid(user)
    os.setuid(user)
    with grpc.insecure_channel(target) as channel:
        stub = services.WorkloadServiceStub(channel)

        def add(name, config):
            try:
                stub.AddWorkload(messages.AddWorkloadRequest(name=name, config=config))
            except grpc.RpcError as error:
                return error.code().name
            return "OK"

        print("files", *sorted({add(f"f{i}", config) for i, config in enumerate(COSTLY)}))
        print("name", add("owned", MODEL % b"x"))
        print("large", add("large", MODEL % (b"x" * MIB)))
        added = [add(f"w{i}", MODEL % str(i).encode()) for i in range(40)]
        print("many", added.count("OK"), *sorted(set(added)))
        print("flood", *sorted({add("w0", MODEL % b"0") for _ in range(200)}))


def scenario():
    if os.geteuid() != 0:
        print("skipped: only root can be another user", flush=True)
        return
    messages = proto("workload_service_pb2")
    services = proto("workload_service_pb2_grpc")
    with Node() as node:
        node.add_kernel("gemm_f32")
        node.start_daemon()
        with grpc.insecure_channel(node.socket()) as channel:
            stub = services.WorkloadServiceStub(channel)
            stub.AddWorkload(messages.AddWorkloadRequest(name="owned", config=MODEL % b""))
            attacker = subprocess.run([sys.executable, __file__, "attack", node.socket(), "65534"], capture_output=True,
                                      text=True, timeout=240, check=False)
            told = dict(line.split(" ", 1) for line in attacker.stdout.strip().splitlines())
            check(told.get("files") == "INVALID_ARGUMENT", f"files that are no model are refused: {told.get('files')}")
            check(told.get("name") == "PERMISSION_DENIED", f"a name of another is kept: {told.get('name')}")
            check(told.get("large") == "RESOURCE_EXHAUSTED", f"a larger file is not read: {told.get('large')}")
            check(told.get("many") == "16 OK RESOURCE_EXHAUSTED", f"a user has so many: {told.get('many')}")
            check("RESOURCE_EXHAUSTED" in told.get("flood", ""), f"and adds so fast: {told.get('flood')}")
            names = [workload.name for workload in stub.ListWorkloads(messages.ListWorkloadsRequest()).workloads]
            check("owned" in names and len(names) == 17, f"the owner's is there, and 16 of the other's: {len(names)}")
            stub.AddWorkload(messages.AddWorkloadRequest(name="another", config=MODEL % b""))
            check(True, "the owner adds another one at that moment")
        print(f"note: at most {peak_memory_mib(node.daemon.pid):.0f} MiB", flush=True)
        check(peak_memory_mib(node.daemon.pid) < MOST_MIB, f"the daemon stayed below {MOST_MIB} MiB")
        check(node.cli("workload", "remove", "w0").returncode == 0, "an operator removes what is too much")
        wait_until(lambda: node.cli("status").returncode == 0, 10, "status answers")


if sys.argv[1:2] == ["attack"]:
    attack(sys.argv[2], int(sys.argv[3]))
else:
    main(scenario)
