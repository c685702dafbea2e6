"""Reports of use that are false count for what a process can have decided, connecting anew gains nothing, and one user's keep
nobody else's out."""

import os
import pathlib
import subprocess
import sys
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, proto, wait_until  # pylint: disable=wrong-import-position
from scripted_agent import ScriptedAgent, serve_in_background  # pylint: disable=wrong-import-position

FALSE = 1e12


def report(messages, kernel, silicon, digest, fitted=0.0, extrapolated=0.0):
    request = messages.ReportUsageRequest(interval_s=30)
    usage = request.kernels.add(kernel=kernel, silicon_key=silicon, digest=digest)
    usage.counts.fitted = fitted
    usage.counts.extrapolated = extrapolated
    return request


def flood(target, user):
    """As another user: reports until it is told that there are too many; prints the status."""
    messages = proto("usage_service_pb2")
    services = proto("usage_service_pb2_grpc")
    os.setgid(user)
    os.setuid(user)
    with grpc.insecure_channel(target) as channel:
        stub = services.UsageServiceStub(channel)
        for _ in range(20_000):
            try:
                stub.ReportUsage(messages.ReportUsageRequest())
            except grpc.RpcError as error:
                print(error.code().name)
                return
    print("OK")


def counted(node, kernel):
    for usage in node.json("status").get("usage", {}).get("kernels", []):
        if usage["kernel"] == kernel:
            return sum(value for value in usage["counts"].values() if isinstance(value, (int, float)))
    return 0


def scenario():
    messages = proto("usage_service_pb2")
    services = proto("usage_service_pb2_grpc")
    with Node() as node:
        node.add_kernel("gemm_f32")
        node.start_daemon()
        agents = grpc.insecure_channel(node.socket("agent"))
        agent = serve_in_background(ScriptedAgent(agents, ["CPU-1"]))
        wait_until(lambda: node.json("status").get("devices_attached") == 1, 30, "a device is attached")
        job = node.wait_for_job(node.reprofile("gemm_f32"))
        check(job["state"] == "SUCCEEDED", f"a table serves {job.get('message', '')[:100]}")
        table = node.json("tables", "list")["tables"][0]
        silicon, digest = table["silicon_key"], table["digest"]
        since = time.monotonic()
        with grpc.insecure_channel(node.socket()) as channel:
            stub = services.UsageServiceStub(channel)
            answer = stub.ReportUsage(report(messages, "gemm_f32", silicon, digest, extrapolated=FALSE))
            check(any("decisions count as" in reason for reason in answer.reasons),
                  f"a report of 1e12 decisions is told what it counts for: {list(answer.reasons)}")
            total = counted(node, "gemm_f32")
            check(0 < total <= 1.2e6 + (time.monotonic() - since) * 1e6, f"it counts as {total:.3g} decisions")
            for _ in range(100):
                stub.ReportUsage(report(messages, "gemm_f32", silicon, digest, extrapolated=FALSE))
            for _ in range(40):
                anew = [("grpc.use_local_subchannel_pool", 1)]
                with grpc.insecure_channel(node.socket(), options=anew) as another:
                    services.UsageServiceStub(another).ReportUsage(
                        report(messages, "gemm_f32", silicon, digest, extrapolated=FALSE))
            total = counted(node, "gemm_f32")
            check(total <= 1.2e6 + (time.monotonic() - since) * 1e6,
                  f"with a hundred more in a row, and forty on connections of their own, it is {total:.3g}")
            jobs = node.json("jobs", "list")["jobs"]
            check(len(jobs) == 1, "no top-up is queued on that word alone")

        if os.geteuid() != 0:
            print("skipped: other users' reports need root", flush=True)
            return
        # A process of its own: gRPC does not live through a fork.
        flooder = subprocess.run([sys.executable, __file__, "flood", node.socket(), "65534"], capture_output=True,
                                 text=True, timeout=120, check=False)
        told = flooder.stdout.strip()
        check(told == "RESOURCE_EXHAUSTED", f"a user who reports without end is told: {told}")
        with grpc.insecure_channel(node.socket()) as channel:
            services.UsageServiceStub(channel).ReportUsage(messages.ReportUsageRequest())
            check(True, "another user's report is taken at that moment")
        wait_until(lambda: node.cli("status").returncode == 0, 10, "status answers")
        agent.close()


if sys.argv[1:2] == ["flood"]:
    flood(sys.argv[2], int(sys.argv[3]))
else:
    main(scenario)
