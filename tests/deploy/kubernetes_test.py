"""The manifests of deploy/kubernetes: they build, fit the schemas of Kubernetes, and say what they should.

Needs kubectl (or kustomize), and PyPI for kubernetes-validate, which has the schemas; says why it skipped.
"""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("base", "overlays/metrics", "overlays/device-plugin", "overlays/fleet")
# The oldest that is supported by its authors' packages, and a newer one.
SCHEMAS = ("1.28", "1.31")
VALIDATE = """
import json, sys, yaml, kubernetes_validate
found = []
for document in yaml.safe_load_all(open(sys.argv[1])):
    found.append(document)
    if document["apiVersion"].startswith("monitoring.coreos.com/"):
        continue  # Of another's definition.
    for version in sys.argv[2:]:
        kubernetes_validate.validate(document, version, strict=True)
json.dump(found, sys.stdout)
"""


@functools.lru_cache(maxsize=None)
def validator() -> str:
    """A Python with kubernetes-validate; empty where it cannot be had."""
    folder = tempfile.mkdtemp(prefix="wavetune-kubernetes-")
    unittest.addModuleCleanup(shutil.rmtree, folder)
    python = f"{folder}/bin/python"
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "kubernetes-validate", "pyyaml"],
            capture_output=True, check=True, timeout=240)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return ""
    return python


def builder() -> list[str]:
    """The command that builds a kustomization; empty where there is none."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else []


@functools.lru_cache(maxsize=None)
def built(overlay: str) -> list[dict[str, Any]]:
    """The documents of an overlay; checked against the schemas."""
    text = subprocess.run([*builder(), FOLDER / overlay], check=True, capture_output=True, text=True).stdout
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([validator(), "-c", VALIDATE, file.name, *SCHEMAS],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{overlay}: {done.stderr.splitlines()[-1]}")
    return json.loads(done.stdout)


def one(overlay: str, kind: str) -> dict[str, Any]:
    """The only document of a kind."""
    (found,) = [document for document in built(overlay) if document["kind"] == kind]
    return found


def containers(overlay: str) -> dict[str, dict[str, Any]]:
    """The containers of the pods, by name."""
    pod = one(overlay, "DaemonSet")["spec"]["template"]["spec"]
    return {container["name"]: container for container in pod["containers"]}


def variables(container: dict[str, Any]) -> dict[str, str]:
    """The environment of a container."""
    return {variable["name"]: variable.get("value", "") for variable in container.get("env", [])}


@unittest.skipUnless(builder(), "skipped: neither kustomize nor kubectl here")
class KubernetesTest(unittest.TestCase):
    def setUp(self) -> None:
        if not validator():
            self.skipTest("skipped: kubernetes-validate cannot be installed here")

    def test_every_overlay_builds_and_fits_the_schemas(self) -> None:
        for overlay in OVERLAYS:
            self.assertEqual([document["metadata"].get("namespace", "wavetune") for document in built(overlay)],
                             ["wavetune"] * len(built(overlay)))

    def test_daemon_and_agent_are_users_of_their_own_with_no_right_to_spare(self) -> None:
        users = set()
        for overlay in OVERLAYS:
            for container in containers(overlay).values():
                context = container["securityContext"]
                self.assertFalse(context["allowPrivilegeEscalation"])
                self.assertTrue(context["readOnlyRootFilesystem"])
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                users.add(context["runAsUser"])
        script = subprocess.run([ROOT / "deploy" / "container" / "build_root.sh", "--users"],
                                capture_output=True, text=True, check=True)
        made = [line.split()[:3] for line in script.stdout.splitlines()]
        self.assertIn(["u", "wavetune", "890"], made)
        self.assertIn(["u", "wavetune-agent", "891"], made)
        self.assertIn(["g", "wavetune-admin", "892"], made)
        self.assertEqual(users, {890, 891})

    def test_the_gpu_is_the_agents_alone(self) -> None:
        self.assertEqual(variables(containers("base")["daemon"])["NVIDIA_VISIBLE_DEVICES"], "void")
        self.assertEqual(variables(containers("base")["agent"])["NVIDIA_VISIBLE_DEVICES"], "all")
        limits = containers("overlays/device-plugin")
        self.assertEqual(limits["agent"]["resources"]["limits"]["nvidia.com/gpu"], 1)
        self.assertNotIn("nvidia.com/gpu", limits["daemon"]["resources"]["limits"])
        pod = one("overlays/device-plugin", "DaemonSet")["spec"]["template"]["spec"]
        self.assertNotIn("runtimeClassName", pod)

    def test_only_the_daemon_has_the_store_and_only_the_agent_the_programs(self) -> None:
        mounts = {name: {mount["name"]: mount for mount in container["volumeMounts"]}
                  for name, container in containers("base").items()}
        self.assertEqual(set(mounts["daemon"]), {"sockets", "store", "config"})
        self.assertEqual(set(mounts["agent"]), {"sockets", "programs", "temporary", "config"})
        self.assertTrue(mounts["agent"]["sockets"]["readOnly"])
        volumes = one("base", "DaemonSet")["spec"]["template"]["spec"]["volumes"]
        self.assertIn({"name": "sockets", "hostPath": {"path": "/run/wavetune", "type": "DirectoryOrCreate"}}, volumes)

    def test_probes_ask_for_what_the_daemon_serves(self) -> None:
        daemon = containers("base")["daemon"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            command = daemon[probe]["exec"]["command"]
            self.assertEqual(command, ["/usr/bin/wavetune", "--endpoint", "unix:/run/wavetune/reader.sock", "status"])

    def test_the_configuration_is_what_the_containers_are_told(self) -> None:
        config = one("base", "ConfigMap")
        volumes = one("base", "DaemonSet")["spec"]["template"]["spec"]["volumes"]
        self.assertIn(config["metadata"]["name"], [volume.get("configMap", {}).get("name") for volume in volumes])
        for container in containers("base").values():
            self.assertIn("/etc/wavetune/wavetune.conf", container["command"])
            (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == "config"]
            self.assertIn(mount["subPath"], config["data"])

    @unittest.skipUnless("WAVETUNE_BIN_DIR" in os.environ, "skipped: WAVETUNE_BIN_DIR does not name the programs")
    def test_the_programs_take_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "wavetune.conf")
            path.write_text(one("base", "ConfigMap")["data"]["wavetune.conf"])
            path.chmod(0o444)
            for program in ("wavetuned", "wavetune-agent"):
                done = subprocess.run(
                    [pathlib.Path(os.environ["WAVETUNE_BIN_DIR"], program), "--config", path, "--print-config"],
                    capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_only_the_daemon_has_the_fleets_keys_and_it_alone_can_read_them(self) -> None:
        pod = one("overlays/fleet", "DaemonSet")["spec"]["template"]["spec"]
        mounts = {name: {mount["name"]: mount for mount in container["volumeMounts"]}
                  for name, container in containers("overlays/fleet").items()}
        self.assertTrue(mounts["daemon"]["fleet"]["readOnly"])
        self.assertNotIn("fleet", mounts["agent"])
        self.assertNotIn("fsGroup", pod["securityContext"])  # The agent would be in the daemon's group.
        self.assertEqual([container["name"] for container in pod["initContainers"]], ["fleet", "folders"])
        (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "fleet"]
        self.assertEqual(volume["emptyDir"]["medium"], "Memory")
        config = [document for document in built("overlays/fleet")
                  if document["kind"] == "ConfigMap" and "trust" in document["data"]]
        self.assertEqual([{"name": "fleet-trust", "configMap": {"name": config[0]["metadata"]["name"], "defaultMode": 0o444}}],
                         [volume for volume in pod["volumes"] if volume["name"] == "fleet-trust"])
        # Nobody is trusted whose key stands in a document.
        self.assertNotRegex(config[0]["data"]["trust"], r"(?m)^[0-9a-f]{64}")
        told = variables(containers("overlays/fleet")["daemon"])
        for name, value in told.items():
            if value.startswith("/"):
                self.assertTrue(value.startswith(mounts["daemon"]["fleet"]["mountPath"] + "/"), name)
        self.assertEqual(set(told), {"NVIDIA_VISIBLE_DEVICES"} | {
            f"WAVETUNE_FLEET{name}" for name in ("", "_NODE", "_TRUST", "_KEY", "_CA", "_CERT", "_TLS_KEY")})

    def test_the_fleets_files_are_as_the_daemon_takes_them(self) -> None:
        pod = one("overlays/fleet", "DaemonSet")["spec"]["template"]["spec"]
        script = pod["initContainers"][0]["command"][2]
        with tempfile.TemporaryDirectory() as folder:
            for path in ("run/fleet/secret", "run/fleet/trust", "etc/wavetune/fleet"):
                pathlib.Path(folder, path).mkdir(parents=True)
            pathlib.Path(folder, "run/fleet/secret/fleet.key").write_text("a key")
            pathlib.Path(folder, "run/fleet/trust/trust").write_text("keys")
            pathlib.Path(folder, "etc/wavetune/fleet/old").write_text("of the pod before")
            here = script.replace("/etc/", f"{folder}/etc/").replace("/run/", f"{folder}/run/")
            here = here.replace("890:890", f"{os.geteuid()}:{os.getegid()}")
            subprocess.run(["/bin/sh", "-ec", here], check=True)
            made = {path.name: path.stat().st_mode & 0o777 for path in pathlib.Path(folder, "etc/wavetune/fleet").iterdir()}
            self.assertEqual(made, {"fleet.key": 0o600, "trust": 0o600})

    def test_prometheus_finds_the_metrics(self) -> None:
        monitor, service = one("overlays/metrics", "ServiceMonitor"), one("overlays/metrics", "Service")
        daemon = containers("overlays/metrics")["daemon"]
        self.assertEqual(monitor["spec"]["selector"]["matchLabels"].items() - service["metadata"]["labels"].items(), set())
        labels = one("overlays/metrics", "DaemonSet")["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(service["spec"]["selector"].items() - labels.items(), set())
        (port,) = service["spec"]["ports"]
        self.assertEqual([endpoint["port"] for endpoint in monitor["spec"]["endpoints"]], [port["name"]])
        (own,) = daemon["ports"]
        self.assertEqual(own["name"], port["targetPort"])
        self.assertTrue(re.search(rf":{own['containerPort']}$", variables(daemon)["WAVETUNE_METRICS_ADDRESS"]))
        self.assertNotIn("ports", containers("base")["daemon"])


if __name__ == "__main__":
    unittest.main()
