"""Ten minutes of everything at once leave memory where it was: decisions, watches, jobs, reports of use, tables.

WAVETUNE_HOSTILE_MINUTES: how long (default 10). The first fifth warms up: jobs without a pause fill what the store
keeps in memory (4 MiB unwritten, 8 MiB of cached blocks), which would take hours at their pace afterwards.
"""

import os
import pathlib
import statistics
import sys
import threading
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, proto, wait_until  # pylint: disable=wrong-import-position
from scripted_agent import ScriptedAgent, serve_in_background  # pylint: disable=wrong-import-position

MINUTES = float(os.environ.get("WAVETUNE_HOSTILE_MINUTES", "10"))
# Of resident memory, at the end against the end of the warm-up.
TOLERANCE = 0.05
# Looks at the memory, a second apart, of which the median counts: the daemon gives memory back every 10 s after many
# streams have ended, so that single looks differ by more than the tolerance.
LOOKS = max(10, round(MINUTES * 6))


class Load:
    """Threads that each do one thing again and again; a call that fails is a failure of the scenario."""

    def __init__(self, node):
        self.node = node
        self.stop = threading.Event()
        self.warm = threading.Event()
        self.counts = {}
        self.failures = []
        self.threads = []

    def repeat(self, name, prepare, pause=0.0, warm_up_pause=None):
        """`pause`: seconds between two; `warm_up_pause`: while it warms up."""
        def run():
            with grpc.insecure_channel(self.node.socket(), [("grpc.use_local_subchannel_pool", 1)]) as channel:
                step = prepare(channel)
                while not self.stop.is_set():
                    try:
                        step()
                        self.counts[name] = self.counts.get(name, 0) + 1
                    except grpc.RpcError as error:
                        if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
                            self.failures.append(f"{name}: {error.code().name} {error.details()}")
                    warms_up = warm_up_pause is not None and not self.warm.is_set()
                    self.stop.wait(warm_up_pause if warms_up else pause)
        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)


def problem(message, **extents):
    for name, value in extents.items():
        message.extents.add(dimension=name, values=[value])
    return message


def decisions(channel):
    messages = proto("decision_service_pb2")
    stub = proto("decision_service_pb2_grpc").DecisionServiceStub(channel)
    request = messages.ResolveRequest(kernel="gemm_f32")
    for m in range(1, 33):
        problem(request.problems.add(), m=m, n=4096, k=4096)
    return lambda: stub.Resolve(request)


def watches(channel):
    messages = proto("table_service_pb2")
    stub = proto("table_service_pb2_grpc").TableServiceStub(channel)

    def step():
        calls = [stub.WatchTables(messages.WatchTablesRequest()) for _ in range(20)]
        next(calls[-1])
        for call in calls:
            call.cancel()
    return step


def tables(channel):
    messages = proto("table_service_pb2")
    stub = proto("table_service_pb2_grpc").TableServiceStub(channel)

    def step():
        stub.ListTables(messages.ListTablesRequest())
        stub.GetTable(messages.GetTableRequest(kernel="gemm_f32"))
        stub.AnnounceTableSet(messages.AnnounceTableSetRequest(tables={f"k{time.monotonic_ns()}": "a" * 64}))
    return step


def usage(channel):
    messages = proto("usage_service_pb2")
    stub = proto("usage_service_pb2_grpc").UsageServiceStub(channel)
    number = [0]

    def step():
        number[0] += 1
        request = messages.ReportUsageRequest(interval_s=30)
        used = request.kernels.add(kernel="gemm_f32")
        used.counts.fitted = 1000
        for i in range(64):
            entry = used.problems.add(decisions=10)
            problem(entry.problem, m=1 + (number[0] * 64 + i) % 60000, n=512, k=512)
        stub.ReportUsage(request)
        stub.GetUsage(messages.GetUsageRequest())
    return step


def status(channel):
    messages = proto("status_service_pb2")
    stub = proto("status_service_pb2_grpc").StatusServiceStub(channel)

    def step():
        stub.GetStatus(messages.GetStatusRequest())
        stub.ListJobs(messages.ListJobsRequest())
        stub.ListKernels(messages.ListKernelsRequest())
        stub.ListDevices(messages.ListDevicesRequest())
    return step


def jobs(node):
    """Profiles of the small kernel one after the other, every fourth afresh."""
    def prepare(_):
        messages = proto("admin_service_pb2")
        channel = grpc.insecure_channel(node.socket("admin"), [("grpc.use_local_subchannel_pool", 1)])
        stub = proto("admin_service_pb2_grpc").AdminServiceStub(channel)
        number = [0]

        def step():
            number[0] += 1
            request = messages.ReprofileRequest(kernel="column_sum", fresh=number[0] % 4 == 0)
            job = stub.Reprofile(request).jobs[0]
            for _ in stub.WatchJob(messages.WatchJobRequest(id=job.id)):
                pass
        return step
    return prepare


def usual_memory_mib(pid):
    """Median of a process' resident memory in the next LOOKS seconds, in MiB."""
    looks = []
    for _ in range(LOOKS):
        looks.append(memory_mib(pid))
        time.sleep(1)
    return statistics.median(looks)


def scenario():
    with Node() as node:
        node.add_kernel("gemm_f32")
        node.add_kernel("column_sum")
        node.start_daemon("--auto-refine=false")
        with grpc.insecure_channel(node.socket("agent")) as channel:
            agent = serve_in_background(ScriptedAgent(channel, ["CPU-1"]))
            wait_until(lambda: node.json("status").get("devices_attached") == 1, 30, "a device is attached")
            record = node.wait_for_job(node.reprofile("gemm_f32"))
            check(record["state"] == "SUCCEEDED", f"a table serves: {record['message'][:80]}")
            load = Load(node)
            load.repeat("decisions", decisions)
            load.repeat("watches", watches, pause=0.02)
            load.repeat("tables", tables, pause=0.01)
            load.repeat("usage", usage, pause=0.05)
            load.repeat("status", status, pause=0.1)
            load.repeat("jobs", jobs(node), pause=0.5, warm_up_pause=0)
            time.sleep(MINUTES * 60 / 5)
            load.warm.set()
            before = usual_memory_mib(node.daemon.pid)
            time.sleep(max(0, MINUTES * 60 * 4 / 5 - 2 * LOOKS))
            after = usual_memory_mib(node.daemon.pid)
            load.end()
            agent.close()
            print(f"calls: {load.counts}", flush=True)
            check(not load.failures, f"no call failed {load.failures[:3]}")
            check(min(load.counts.values()) > 0 and len(load.counts) == 6, "everything was done")
            check(abs(after - before) <= TOLERANCE * before,
                  f"memory: {before:.1f} MiB after the warm-up, {after:.1f} MiB at the end "
                  f"({100 * (after / before - 1):+.1f} %)")


main(scenario)
