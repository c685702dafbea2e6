"""Stages are timed, and a run from nothing that takes too much processor time fails at its ceiling."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIB = pathlib.Path(__file__).resolve().parent / "lib"
RUN = f"""
set -euo pipefail
repo_root="$PWD"
note() {{ printf '== %s\\n' "$*"; }}
warn() {{ printf 'warning: %s\\n' "$*" >&2; }}
. {LIB}/stages.sh
run_stage idle sleep 1
busy() {{ {sys.executable} -c 'import time
while time.process_time() < 1.1: pass'; }}
run_stage busy busy
"""


class StagesTest(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)
        self.root = pathlib.Path(self.tmp.name)

    def run_stages(self, then):
        return subprocess.run(["bash", "-c", RUN + then], cwd=self.root, capture_output=True, text=True, check=False)

    def ceiling(self, cache=""):
        log = f"printf '{cache}' > \"$CCACHE_STATSLOG\"\n" if cache else ""
        return self.run_stages(log + "run_stage ceiling check_ceiling 0\nfinish_stages\n")

    def test_a_run_from_nothing_fails_above_the_ceiling(self):
        run = self.ceiling(cache="# a.cc\\ncache_miss\\n")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("WAVETUNE_CEILING_MINUTES", run.stdout)
        self.assertIn("FAILED", run.stdout.splitlines()[-1])

    def test_what_was_built_or_cached_before_is_not_judged(self):
        (self.root / "build/ci").mkdir(parents=True)
        (self.root / "build/ci/.ninja_log").touch()
        run = self.ceiling()
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("warning: that is more", run.stdout)

    def test_a_run_that_the_cache_answered_is_not_judged(self):
        run = self.ceiling(cache="# a.cc\\ndirect_cache_hit\\n# b.cc\\ncache_miss\\n")
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_times_are_left_for_the_results(self):
        run = self.run_stages("finish_stages\n")
        self.assertRegex(run.stdout, "idle +0m0.s +0m00s of processor  ok\n +busy +0m..s +0m01s of processor  ok")
        times = json.loads((self.root / "build/stages/times.json").read_text())
        self.assertEqual(set(times), {"wall_minutes", "processor_minutes"})
        self.assertRegex((self.root / "build/stages/times.txt").read_text(), "idle 0.., 0.0; busy")


if __name__ == "__main__":
    unittest.main()
