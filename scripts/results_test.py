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

    def record(self, figure, text, key):
        path = self.docs / "in.json"
        path.write_text(text)
        return self.run_script("record", figure, "--from", str(path), "--key",
                               key, "--machine", "m", "--commit", "c")

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

    def test_names_missing_keys_of_a_figure(self):
        (self.docs / "results/live.json").write_text('[{"id": "x"}]')
        self.assertIn("x lacks what", self.run_script("page")[1])


if __name__ == "__main__":
    unittest.main()
