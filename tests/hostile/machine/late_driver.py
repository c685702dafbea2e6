"""A driver that is ready late: CUDA, NVML and OpenCL that fail when the agent looks, and answer later; a GPU that falls off the bus.

Drivers are fakes (tests/hostile/late_driver.c): they list GPUs and launch nothing.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import ROOT, Node, check, main, wait_until  # pylint: disable=wrong-import-position

# The agent looks again after 5 to 30 s, and a busy machine takes its time to list devices.
SOON = 180
GPUS = [f"GPU-{byte * 4}-{byte * 2}-{byte * 2}-{byte * 2}-{byte * 6}" for byte in ("10", "11")]


class Driver:
    """What the fake libraries answer, and how an agent gets them."""

    def __init__(self, node):
        self.node = node
        self.answers = node.folder / "answers"
        self.libraries = node.folder / "libraries"
        self.libraries.mkdir()
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "preloaded.so"):
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", self.libraries / name,
                            ROOT / "tests/hostile/late_driver.c", "-ldl"], check=True)
        self.answer()

    def answer(self, **codes):
        """Answers so from now on; what is not named is well."""
        new = self.answers.with_suffix(".new")
        new.write_text("".join(f"{name} {code}\n" for name, code in codes.items()))
        new.replace(self.answers)

    def start_agent(self):
        folders = [str(self.libraries), "/usr/local/cuda/lib64", os.environ.get("LD_LIBRARY_PATH", "")]
        self.node.start_agent("--backends", "cuda,opencl", environment={
            "LATE_DRIVER": str(self.answers), "LD_LIBRARY_PATH": ":".join(filter(None, folders)),
            "LD_PRELOAD": str(self.libraries / "preloaded.so")})

    def restart_agent(self):
        self.node.stop(self.node.agent)
        self.start_agent()


def devices(node):
    """The attached ones, by UUID."""
    listed = node.json("devices").get("devices", [])
    return {device["facts"]["uuid"]: device for device in listed if device.get("attached")}


def doctor(node):
    return node.cli("doctor").stdout


def fabric_manager(node, driver):
    driver.answer(cuInit=802, gpus=2)
    driver.start_agent()
    check(not set(GPUS) & set(devices(node)), "a driver that is not ready lists no GPU")
    wait_until(lambda: "may lack a device" in doctor(node), 10, "doctor says that one may be missing")
    check("(802)" in doctor(node) and "nvidia-fabricmanager" in doctor(node), "with the error, and what to do")
    check("! cuda: starting the NVIDIA driver failed" in node.cli("devices").stdout, "so does the list of devices")
    warned = [line for line in node.log("agent").splitlines() if "(802)" in line]
    check(warned and "WARN" in warned[0], "and the agent's log, as a warning")
    driver.answer(gpus=2, cuDeviceGet1=999)
    wait_until(lambda: GPUS[0] in devices(node), SOON, "a driver that becomes ready is found")
    check(GPUS[1] not in devices(node), "a GPU that does not answer is none yet")
    wait_until(lambda: "GPU 1 is left out" in doctor(node), 10, "and doctor says so")
    driver.answer(gpus=2)
    wait_until(lambda: set(GPUS) <= set(devices(node)), SOON, "it is found as soon as it answers")
    wait_until(lambda: "may lack a device" not in doctor(node), 10, "then doctor finds nothing of it any more")


def lost(node, driver):
    check(devices(node)[GPUS[0]].get("problem", "") == "", "an idle GPU is well")
    driver.answer(gpus=2, nvml=15)
    wait_until(lambda: "fell off the bus" in devices(node)[GPUS[0]].get("problem", ""), 30, "one that is lost is said to be")
    check("cannot be used" in doctor(node), "by doctor, too")
    check("fell off the bus" in node.cli("events", "--kind", "device-lost").stdout, "and by an event")
    driver.answer(gpus=2)
    wait_until(lambda: devices(node).get(GPUS[0], {"problem": "?"}).get("problem", "") == "", SOON, "and so is one that is back")


def nvml(node, driver):
    before = {uuid: device["silicon_key"] for uuid, device in devices(node).items()}
    driver.answer(gpus=2, nvmlInit=999)
    driver.restart_agent()
    check(not set(GPUS) & set(devices(node)), "without NVML's answer no GPU is of another class: none is attached")
    check("NVML does not start: error 999" in node.log("agent"), "and the error is said")
    check("utility" not in node.log("agent"), "not what would help where the library is missing")
    driver.answer(gpus=2)
    wait_until(lambda: set(GPUS) <= set(devices(node)), SOON, "GPUs come with it")
    after = {uuid: device["silicon_key"] for uuid, device in devices(node).items()}
    check(after == before, "and are of the class they were of")
    driver.answer(gpus=2, nvmlInit=18, nvml=18)
    node.agent.send_signal(1)  # HUP: devices are listed anew.
    wait_until(lambda: not set(GPUS) & set(devices(node)), SOON, "a reload while NVML fails attaches none")
    driver.answer(gpus=2)
    wait_until(lambda: set(GPUS) <= set(devices(node)), SOON, "and they come back")
    check({uuid: device["silicon_key"] for uuid, device in devices(node).items()} == before, "as what they were")


def opencl(node, driver):
    driver.answer(clGetPlatformIDs=-6)
    driver.restart_agent()
    check(list(devices(node)) == GPUS[:1], "OpenCL that cannot be listed hides no GPU")
    check("listing OpenCL platforms failed" in doctor(node), "and doctor says so")
    driver.answer()
    wait_until(lambda: len(devices(node)) > 1, SOON, "its devices come when it answers")


def twins(node, driver):
    driver.answer(gpus=2, twins=1)
    driver.restart_agent()
    zero = "GPU-00000000-0000-0000-0000-000000000000"
    check(zero in devices(node), "of two GPUs with one UUID the first is attached")
    check(f"has the UUID {zero} too and is left out" in doctor(node), "the second is said to be left out")


def scenario():
    with Node() as node:
        driver = Driver(node)
        node.start_daemon()
        fabric_manager(node, driver)
        lost(node, driver)
        nvml(node, driver)
        opencl(node, driver)
        twins(node, driver)


main(scenario)
