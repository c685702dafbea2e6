"""The page equals what the script writes; faulty input gives a clear error."""
import contextlib
import io
import pathlib
import shutil
import tempfile
import unittest

import results


class ResultsTest(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)
        self.docs = pathlib.Path(self.tmp.name)
        shutil.copytree(results.ROOT / "docs/results", self.docs / "results")

    def run_script(self, *args):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = results.main(["--docs", str(self.docs), *args])
        return code, err.getvalue()

    def record(self, figure, text, key, *more):
        path = self.docs / "in.json"
        path.write_text(text)
        return self.run_script("record", figure, "--from", str(path), "--key",
                               key, "--machine", "m", "--commit", "c", *more)

    def figure(self, topic, name):
        path = self.docs / f"results/{topic}.json"
        return next(e for e in results.entries(path) if e["id"] == name)

    def test_page_is_current(self):
        self.assertEqual(0, results.main(["page", "--check"]))

    def test_records_benchmark(self):
        text = '{"benchmarks": [{"name": "Repeated", "real_time": 7.25}]}'
        self.assertEqual((0, ""), self.record("repeated", text, "Repeated"))

    def test_refuses_what_is_not_json(self):
        self.assertIn("not JSON", self.record("repeated", "{", "a")[1])

    def test_refuses_missing_key_and_unknown_id(self):
        self.assertIn("no a.b in", self.record("repeated", "{}", "a.b")[1])
        self.assertIn("no figure x", self.record("x", '{"a": 1}', "a")[1])

    def test_adds_a_figure(self):
        new = ("--topic", "live", "--what", "w", "--command", "run", "--unit",
               "%", "--target", "≥ 99, ≥ 95 %", "--key", "b")
        self.assertEqual((0, ""), self.record(
            "new", '{"a": 99.5, "b": 94}', "a", *new))
        entry = self.figure("live", "new")
        self.assertEqual("99.5, 94.0", entry["measured"])
        self.assertTrue(entry["missed"])
        self.assertEqual((0, ""), self.run_script("page"))
        self.assertIn("| w | ≥ 99, ≥ 95 % | 99.5, 94.0 % (**missed**) |",
                      (self.docs / "results.md").read_text())

    def test_a_new_figure_needs_a_topic_what_and_command(self):
        self.assertIn("needs --topic, --command",
                      self.record("x", '{"a": 1}', "a", "--what", "w")[1])

    def test_the_target_decides_whether_it_is_missed(self):
        for target, measured, missed in (
                ("≥ 97 %", "98.8", False), ("≥ 97 %", "98.8, 96.9", True),
                ("≤ 50 ns", "37", False), ("≤ 50 ns", "50.1", True),
                ("≥ 99, ≥ 95, ≥ 88 %", "99.2, 96.4, 87.0", True),
                ("≥ 0.90, ≥ 0.75 (goal ≥ 2)", "1.0×, 0.9×, 0.8×", False),
                ("90–97 %; ≤ 10 %", "90.0 %; 7.9 %", False),
                ("90–97 %", "98", True), ("± 5 %", "−0.4, +2.4", False),
                ("± 5 %", "−5.4", True), ("as before", "1.9", None),
                ("", "1.9", None), ("≥ 1, ≥ 2", "1", None)):
            with self.subTest(target=target, measured=measured):
                self.assertIs(missed, results.misses(target, measured))

    def test_refuses_a_figure_that_contradicts_its_target(self):
        path = self.docs / "results/decisions.json"
        path.write_text(path.read_text().replace('"37"', '"57"'))
        self.assertIn("its target says True", self.run_script("page")[1])

    def test_refuses_a_figure_without_command_or_commit(self):
        path = self.docs / "results/decisions.json"
        path.write_text(path.read_text().replace('"92d4cbf"', '"not noted"'))
        self.assertIn("does not say commit", self.run_script("page")[1])

    def test_lists_a_command_once(self):
        self.assertEqual((0, ""), self.run_script("page"))
        text = (self.docs / "results.md").read_text()
        commands = [line for line in text.split("\n") if "taskset -c 5 decision_benchmark" in line]
        self.assertEqual(1, len(commands))

    def test_names_missing_keys_of_a_figure(self):
        (self.docs / "results/live.json").write_text('[{"id": "x"}]')
        self.assertIn("x lacks what", self.run_script("page")[1])


if __name__ == "__main__":
    unittest.main()
