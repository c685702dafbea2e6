"""wavetune up and down, as a user who is not root has them: nothing is said, nothing is left."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["WAVETUNE_BIN_DIR"])
NOBODY = 65534


class UpTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wavetune-up-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)
        # Root's daemon is the system's, and others may not look into root's folders.
        for program in ("wavetune", "wavetuned", "wavetune-agent"):
            shutil.copy2(BIN / program, self.folder)
        shutil.copytree(ROOT / "tests/data/kernels/column_sum", self.folder / "kernels/column_sum")
        (self.folder / "run").mkdir(mode=0o700)
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        self.addCleanup(self.run_command, "down")

    def run_command(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        environment = {**kept, "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder / "run"), **more}
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return subprocess.run([self.folder / "wavetune", *words], env=environment, cwd=self.folder, timeout=120,
                              capture_output=True, text=True, check=False, **user)

    def up(self, *words: str) -> dict:
        done = self.run_command("up", "--json", "--kernels-dir", str(self.folder / "kernels"), *words)
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
        for pid in again["started"].values():
            stat = pathlib.Path(f"/proc/{pid}/stat")
            self.assertTrue(not stat.exists() or ") Z " in stat.read_text())

    def test_without_a_device_there_is_a_daemon_and_the_reason(self) -> None:
        up = self.run_command("up", OCL_ICD_VENDORS="/nonexistent", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertIn("a daemon answers at", up.stdout)
        self.assertIn("no device: wavetune-agent ended", up.stderr)
        self.assertEqual(self.run_command("status").returncode, 0)
        self.assertEqual(self.run_command("down").returncode, 0)

    def test_what_it_cannot_do_it_says(self) -> None:
        elsewhere = self.run_command("up", WAVETUNE_ENDPOINT="/x/reader.sock")
        self.assertEqual(elsewhere.returncode, 2)
        self.assertIn("leave --endpoint and WAVETUNE_ENDPOINT out", elsewhere.stderr)
        homeless = self.run_command("up", HOME="", XDG_CACHE_HOME=str(self.folder / "cache"))
        self.assertNotEqual(homeless.returncode, 0)
        self.assertIn("give --store: there is no HOME", homeless.stderr)
        kept = self.folder / "kept"
        kept.mkdir(mode=0o555)
        home = self.run_command("up", HOME=str(kept))
        self.assertNotEqual(home.returncode, 0)
        self.assertRegex(home.stderr, r"cannot make the folder .*: Permission denied; .* XDG_STATE_HOME")
        nowhere = self.run_command("up", XDG_RUNTIME_DIR="/nonexistent")
        self.assertNotEqual(nowhere.returncode, 0)
        self.assertIn("/nonexistent", nowhere.stderr)

    def test_it_does_not_end_what_somebody_else_started(self) -> None:
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        environment = {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder / "run"), "PATH": os.environ["PATH"]}
        with subprocess.Popen([self.folder / "wavetuned"], env=environment, stderr=subprocess.DEVNULL, **user) as daemon:
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


if __name__ == "__main__":
    unittest.main()
