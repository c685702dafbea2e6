"""wavetune up, down and demo, as a user who is not root has them: nothing is said, nothing is left."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["WAVETUNE_BIN_DIR"])
NOBODY = 65534
USER = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


class InstalledTest(unittest.TestCase):
    """Programs as they are installed, in a folder of this user's own."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wavetune-up-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)
        # Root's daemon is the system's, and others may not look into root's folders.
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for program in ("wavetune", "wavetuned", "wavetune-agent"):
            shutil.copy2(BIN / program, self.bin)
        share = self.folder / "share/wavetune"
        for kernel in ("tests/data/kernels/column_sum", "kernels/gemm_f32"):
            shutil.copytree(ROOT / kernel, share / "kernels" / pathlib.Path(kernel).name)
        shutil.copytree(ROOT / "tests/data/h100/triton_attention_decode", share / "demo")
        for name in ("run", "tmp"):
            (self.folder / name).mkdir(mode=0o700)
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {**kept, "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder / "run"),
                "TMPDIR": str(self.folder / "tmp"), **more}

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen([self.bin / "wavetune", *words], env=self.environment(**more), cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **USER)

    def run_command(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        with self.start(*words, **more) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def assert_nothing_runs(self, when=None):
        """A worker ends when its agent has, which takes it a moment."""
        deadline = time.monotonic() + 10
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.processes(), [], when)

    def processes(self) -> list[str]:
        """What runs of the installed programs."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(path / "exe").startswith(str(self.bin)):
                    found.append((path / "cmdline").read_text().replace("\0", " "))
        return found

    def interrupt(self, after_s: float, *words: str, signals: tuple[int, ...] = (signal.SIGINT,)) -> None:
        """Ctrl-C so many seconds after the start: it ends at once, or had ended, and says nothing but that."""
        with self.start(*words) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(after_s)
            began = time.monotonic()
            for number in signals:
                process.send_signal(number)
                time.sleep(0.01)
            _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 128 + signals[0], -signals[0]), err)
        self.assertLess(time.monotonic() - began, 20)

    def in_bare_root(self, script: str) -> str:
        """Runs a script as root where /run is empty and there is neither a network nor /dev/shm, as in a container."""
        if os.geteuid() != 0 or subprocess.run(["unshare", "-mn", "true"], capture_output=True, check=False).returncode:
            self.skipTest("needs root and namespaces")
        begin = ("set -eu; mount -t tmpfs none /run; mount -t tmpfs -o ro none /dev/shm; "
                 f"as_user() {{ setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups \"$@\"; }}; cd {self.folder}/bin\n")
        done = subprocess.run(["unshare", "-mn", "sh", "-c", begin + script], capture_output=True, text=True, timeout=120,
                              env=self.environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assert_nothing_runs()
        return done.stdout + done.stderr


class UpTest(InstalledTest):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.run_command, "down")

    def up(self, *words: str) -> dict:
        done = self.run_command("up", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_it_is_found_goes_on_and_ends(self) -> None:
        first = self.up()
        self.assertEqual(first["endpoint"], f"unix:{self.folder}/run/wavetune/reader.sock")
        self.assertIn("wavetuned", first["started"])
        kernels = self.run_command("kernels", "list")
        self.assertIn("column_sum", kernels.stdout, kernels.stderr)
        # Again: what runs goes on.
        self.assertEqual(self.up()["started"], first["started"])
        again = self.run_command("up", "--kernels-dir", "/elsewhere")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("keeps its own options", again.stderr)
        # A daemon that was killed is started again, and the agent finds it.
        os.kill(first["started"]["wavetuned"], 9)
        again = self.up()
        self.assertNotEqual(again["started"]["wavetuned"], first["started"]["wavetuned"])
        self.assertEqual(again["started"].get("wavetune-agent"), first["started"].get("wavetune-agent"))
        self.assertEqual(again["device"], first["device"])
        down = self.run_command("down")
        self.assertEqual((down.returncode, down.stderr), (0, ""))
        self.assertIn("wavetuned has ended", down.stdout)
        self.assertEqual(self.run_command("status").returncode, 3)
        self.assertIn("nothing is up", self.run_command("down").stdout)
        self.assertEqual(json.loads(self.run_command("down", "--json").stdout), {"ended": []})
        for pid in again["started"].values():
            stat = pathlib.Path(f"/proc/{pid}/stat")
            self.assertTrue(not stat.exists() or ") Z " in stat.read_text())

    def test_without_a_device_there_is_a_daemon_and_the_reason(self) -> None:
        up = self.run_command("up", OCL_ICD_VENDORS="/nonexistent", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertIn("a daemon answers at", up.stdout)
        self.assertIn("no device: wavetune-agent ended", up.stderr)
        self.assertEqual(self.run_command("status").returncode, 0)
        self.assertEqual(json.loads(self.run_command("down", "--json").stdout), {"ended": ["wavetuned"]})

    def test_what_it_cannot_do_it_says(self) -> None:
        elsewhere = self.run_command("up", WAVETUNE_ENDPOINT="/x/reader.sock")
        self.assertEqual(elsewhere.returncode, 2)
        self.assertIn("leave --endpoint and WAVETUNE_ENDPOINT out", elsewhere.stderr)
        homeless = self.run_command("up", HOME="", XDG_CACHE_HOME=str(self.folder / "cache"))
        self.assertNotEqual(homeless.returncode, 0)
        self.assertIn("give --store: there is no HOME", homeless.stderr)
        nowhere = self.run_command("up", XDG_RUNTIME_DIR="/nonexistent")
        self.assertNotEqual(nowhere.returncode, 0)
        self.assertIn("/nonexistent", nowhere.stderr)
        home = self.folder / "read_only"
        home.mkdir(mode=0o555)
        for _ in range(2):
            read_only = self.run_command("up", HOME=str(home), WAVETUNE_CACHE_DIR=str(self.folder / "cache"))
            self.assertNotEqual(read_only.returncode, 0)
            # Once: what the log has of earlier starts is not told again.
            self.assertEqual(read_only.stderr.count(f"cannot make the folder {home}/.local/state"), 1, read_only.stderr)
            self.assertRegex(read_only.stderr, r"cannot make the folder .*: Permission denied; .* XDG_STATE_HOME")
        self.assert_nothing_runs()

    def test_a_socket_that_is_taken_stays_its_owners(self) -> None:
        place = self.folder / "run/wavetune"
        place.mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(place / "reader.sock"))
            other.listen()
            for path in (place, place / "reader.sock"):
                if USER:
                    os.chown(path, NOBODY, NOBODY)
            taken = self.run_command("up")
        self.assertNotEqual(taken.returncode, 0)
        self.assertIn(str(place / "reader.sock"), taken.stderr)
        self.assert_nothing_runs()
        # Its owner is gone, and left the file.
        self.assertIn("wavetuned", self.up()["started"])

    def test_ctrl_c_leaves_nothing(self) -> None:
        # A closed terminal, too; the second Ctrl-C does not wait for what was started, and `down` knows of it.
        for signals in ((signal.SIGINT,), (signal.SIGHUP,), (signal.SIGINT, signal.SIGINT)):
            for after_s in (0.02, 0.1, 0.3, 0.6):
                self.interrupt(after_s, "up", signals=signals)
                self.run_command("down")
                self.assert_nothing_runs((signals, after_s))
        self.assertEqual([str(path) for path in (self.folder / "run").rglob("*.sock")], [])

    def test_down_believes_no_stranger(self) -> None:
        place = self.folder / "run/wavetune"
        place.mkdir(mode=0o700)
        pids = place / "up.pids"
        program = self.folder / "wavetuned"
        shutil.copy2("/bin/sleep", program)
        with (subprocess.Popen(["sleep", "60"], **USER) as other, subprocess.Popen([program, "60"], **USER) as daemon):
            try:
                pids.write_text(f"sleep {other.pid}\n")
                for path in (place, pids):
                    if USER:
                        os.chown(path, NOBODY, NOBODY)
                self.assertIn("nothing is up", self.run_command("down").stdout)
                # Others can write to the folder, or to the file; then nobody can.
                for folder_mode, file_mode in ((0o777, 0o600), (0o700, 0o666), (0o700, 0o600)):
                    self.assertIsNone(daemon.poll())
                    pids.write_text(f"wavetuned {daemon.pid}\n")
                    if USER:
                        os.chown(pids, NOBODY, NOBODY)
                    pids.chmod(file_mode)
                    place.chmod(folder_mode)
                    down = self.run_command("down")
                    self.assertEqual(down.returncode, 0, down.stderr)
                self.assertEqual(daemon.wait(10), -signal.SIGTERM)
                self.assertIsNone(other.poll())
            finally:
                other.kill()
                daemon.kill()

    def test_in_a_container_one_line_is_enough(self) -> None:
        # As root, which has no runtime folder there, and finds the daemon without being told.
        said = self.in_bare_root("chown -R 0:0 ../share; ./wavetune up; ./wavetune kernels list; ./wavetune status; ./wavetune down\n")
        self.assertIn("a daemon answers at unix:/run/wavetune/reader.sock", said)
        self.assertIn("column_sum", said)
        self.assertIn("wavetuned has ended", said)

    def test_beside_the_systems_daemon_it_starts_nothing(self) -> None:
        said = self.in_bare_root(
            "install -d -o 65534 -g 65534 /run/wavetune\n"
            f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups ./wavetuned --socket-dir /run/wavetune > ../log 2>&1 & "
            "daemon=$!\n"
            "for i in $(seq 100); do as_user ./wavetune status > /dev/null 2>&1 && break; sleep 0.1; done\n"
            "as_user ./wavetune up; as_user ./wavetune down\n"
            # Root's own place is the same.
            "./wavetune up --json; ./wavetune up; ./wavetune down || true; kill $daemon; wait $daemon || true\n")
        self.assertEqual(said.count("the system's daemon answers at unix:/run/wavetune/reader.sock"), 2, said)
        self.assertNotIn('"started"', said)
        self.assertIn("nothing is up", said)

    def test_it_does_not_end_what_somebody_else_started(self) -> None:
        with subprocess.Popen([self.bin / "wavetuned"], env=self.environment(), stderr=subprocess.DEVNULL, **USER) as daemon:
            try:
                deadline = time.monotonic() + 30
                while self.run_command("status").returncode != 0 and time.monotonic() < deadline:
                    time.sleep(0.1)
                self.assertNotIn("wavetuned", self.up().get("started", {}))
                down = self.run_command("down")
                self.assertNotIn("wavetuned has ended", down.stdout)
                self.assertIsNone(daemon.poll())
                left = self.run_command("down")
                self.assertEqual(left.returncode, 1)
                self.assertIn("somebody else started the daemon", left.stderr)
            finally:
                daemon.terminate()


class DemoTest(InstalledTest):
    def test_a_recording_is_judged_beside_other_ways_to_tune(self) -> None:
        done = self.run_command("demo", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        quality = {method["name"]: method["geomean"] for method in said["methods"]}
        self.assertGreater(quality["chosen by the table"], 0.98)
        rivals = [name for name in quality if "@triton.autotune" in name or "JSON" in name]
        self.assertEqual(len(rivals), 3)
        for name in rivals:
            self.assertLess(quality[name], quality["chosen by the table"])
        self.assertGreater(said["decision_ns"], 1)
        page = pathlib.Path(said["report"])
        self.assertEqual(page, self.folder / "wavetune-demo.html")
        self.assertIn("@triton.autotune", page.read_text())

    def test_it_tells_people(self) -> None:
        # Where nothing can be written the page is a temporary file.
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        done = self.run_command("demo", "--no-open", HOME="/proc")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("recorded on an NVIDIA H100", "WaveTune", "best single configuration", "ns on this machine"):
            self.assertIn(words, done.stdout)
        self.assertEqual(len(list((self.folder / "tmp").glob("wavetune-demo-*/wavetune-demo.html"))), 1)
        refused = self.run_command("demo", "--out", "/proc/report.html")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("/proc/report.html", refused.stderr)

    def test_what_it_cannot_do_it_says(self) -> None:
        no_driver = self.run_command("demo", "--device", "cpu", OCL_ICD_VENDORS="/nonexistent")
        self.assertEqual(no_driver.returncode, 1)
        self.assertIn("no OpenCL platform; install an OpenCL driver", no_driver.stderr)
        shutil.rmtree(self.folder / "share/wavetune/demo")
        missing = self.run_command("demo")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("share/wavetune/demo is not beside", missing.stderr)

    def test_ctrl_c_leaves_nothing(self) -> None:
        for after_s in (0.02, 0.3, 0.8):
            self.interrupt(after_s, "demo")
        for after_s in (0.02, 0.2, 0.5, 3):
            self.interrupt(after_s, "demo", "--device", "cpu")
        self.assert_nothing_runs()
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])
        # Where nothing can be written the page has a folder, which is there with it alone.
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        for after_s in (0.02, 0.1, 0.3):
            self.interrupt(after_s, "demo")
        for made in (self.folder / "tmp").iterdir():
            self.assertEqual([path.name for path in made.iterdir()], ["wavetune-demo.html"])


if __name__ == "__main__":
    unittest.main()
