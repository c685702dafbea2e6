"""Daemon and agent as services: their configuration file, reloads, and what the service manager is told."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ["WAVETUNE_BIN_DIR"])
SECTIONS = {"daemon": "wavetuned", "agent": "wavetune-agent"}
# Their defaults are the machine's: what is built in, and whose home it is.
OF_THE_MACHINE = {"backends"}


def environment(folder: pathlib.Path, **more: str) -> dict[str, str]:
    """An environment in which no option is given; `folder` is home."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "HOME": str(folder), "TMPDIR": str(folder), **more}


def printed(program: str, folder: pathlib.Path, *arguments: str) -> dict[str, list[tuple[str, str]]]:
    """(value, source) of each option that --print-config shows; lists have several."""
    text = subprocess.run([BIN / program, *arguments, "--print-config"], env=environment(folder),
                          check=True, capture_output=True, text=True).stdout
    options: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines()[1:]:
        key, value, source = re.fullmatch(r"([a-z0-9-]+) = ?(.*?) +# (.*)", line).groups()
        options.setdefault(key, []).append((value, source))
    return options


def documented(section: str) -> dict[str, tuple[str, bool]]:
    """(value, whether it is set) of each key in a section of deploy/wavetune.conf."""
    keys: dict[str, tuple[str, bool]] = {}
    current = ""
    for line in (ROOT / "deploy" / "wavetune.conf").read_text().splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line):
            current = match.group(1)
        elif current == section and (match := re.fullmatch(r"(#?)([a-z0-9-]+) = ?(.*)", line)):
            assert match.group(2) not in keys, match.group(2)
            keys[match.group(2)] = (match.group(3), not match.group(1))
    return keys


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wavetune-service-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, text: str) -> pathlib.Path:
        """The configuration file, replaced as editors do."""
        path = self.folder / "wavetune.conf"
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").chmod(0o644)
        path.with_suffix(".new").rename(path)
        return path


class CommandLineTest(Case):
    def complete(self, *words: str) -> list[str]:
        """What bash offers for the last word of a command line."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wavetune; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", ROOT / "deploy/completion/wavetune.bash", BIN / "wavetune", *words],
                              env=environment(self.folder), check=True, capture_output=True, text=True)
        return done.stdout.split()

    def test_bash_completes_commands_and_their_options(self) -> None:
        self.assertEqual(self.complete("tab"), ["tables"])
        self.assertIn("rollback", self.complete("tables", ""))
        self.assertEqual(self.complete("--endpoint", "tables.sock", "tables", "rollb"), ["rollback"])
        self.assertEqual(self.complete("reprofile", "--kern"), ["--kernel"])
        self.assertEqual(self.complete("bench", "gemm_f32", "--shapes", ""), [], "files")

    def test_manual_pages_have_every_command(self) -> None:
        for program, section, command in (("wavetune", "1", "tables rollback"), ("wavetuned", "8", "backup"),
                                          ("wavetune-agent", "8", "compile")):
            page = subprocess.run([ROOT / "deploy/man/man_page.sh", BIN / program, section], env=environment(self.folder),
                                  check=True, capture_output=True, text=True).stdout
            self.assertIn(f".TH {program.upper()} {section} ", page)
            self.assertIn(f'.SS "{program} {command}"', page)
            # What is at the beginning of a line would be a request of roff's.
            requests = {line.split()[0] for line in page.splitlines() if line[:1] in (".", "'")}
            self.assertLessEqual(requests, {".TH", ".SH", ".SS", ".B", ".nf", ".fi"})


class ShippedConfigTest(Case):
    def test_it_names_every_option_with_its_default(self) -> None:
        for section, program in SECTIONS.items():
            options, keys = printed(program, self.folder), documented(section)
            options.pop("inject", None)  # Builds with tests alone have it.
            self.assertEqual(sorted(keys), sorted(options), f"[{section}] of deploy/wavetune.conf")
            for key, (value, is_set) in keys.items():
                if not is_set and key not in OF_THE_MACHINE:
                    self.assertEqual([value], [default for default, _ in options[key]], key)

    def test_the_programs_take_it(self) -> None:
        path = self.write((ROOT / "deploy" / "wavetune.conf").read_text())
        for section, program in SECTIONS.items():
            options = printed(program, self.folder, "--config", str(path))
            for key, (value, is_set) in documented(section).items():
                for shown, source in options[key]:
                    self.assertEqual(source.startswith(str(path)), is_set, (key, source))
                    self.assertTrue(not is_set or shown == value, key)

    def test_what_is_commented_out_can_be_commented_in(self) -> None:
        text = (ROOT / "deploy" / "wavetune.conf").read_text()
        path = self.write(re.sub(r"(?m)^#([a-z0-9-]+ =)", r"\1", text))
        for section, program in SECTIONS.items():
            options = printed(program, self.folder, "--config", str(path))
            for key, (value, _) in documented(section).items():
                self.assertEqual([shown for shown, _ in options[key]][:1] if value else [value], [value], key)


class BadConfigTest(Case):
    def refused(self, text: str, program: str = "wavetuned") -> str:
        """What a program says of a configuration that it does not take."""
        path = self.write(text)
        told = []
        for arguments in (["--check-config"], ["--print-config"], []):
            done = subprocess.run(
                [BIN / program, "--config", path, *arguments], env=environment(self.folder),
                capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            told.append(done.stderr)
        self.assertEqual(len(set(told)), 1, told)
        return told[0]

    def test_a_key_that_is_not_known_is_told_with_the_nearest(self) -> None:
        self.assertIn("wavetune.conf: line 2: [daemon] has no key bugdet; did you mean budget?",
                      self.refused("[daemon]\nbugdet = 3\n"))
        self.assertIn("[agent] has no key cache-limit-mb; did you mean cache-limit-mib?",
                      self.refused("[agent]\ncache-limit-mb = 3\n", "wavetune-agent"))
        self.assertIn("did you mean daemon?", self.refused("[deamon]\n"))

    def test_a_value_that_is_out_of_range_is_told(self) -> None:
        self.assertIn("wavetune.conf: --budget:", self.refused("[daemon]\n\nbudget = 0\n"))
        self.assertIn("--log-level:", self.refused("[agent]\nlog-level = loud\n", "wavetune-agent"))

    def test_a_program_does_not_judge_the_others_section(self) -> None:
        path = self.write("[agent]\nnonsense = 1\n")
        printed("wavetuned", self.folder, "--config", str(path))

    def test_a_file_that_others_can_change_is_refused(self) -> None:
        path = self.write("[daemon]\n")
        path.chmod(0o666)
        done = subprocess.run([BIN / "wavetuned", "--config", path, "--check-config"],
                              env=environment(self.folder), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("chmod go-w", done.stderr)

    def test_what_an_option_names_is_looked_at(self) -> None:
        for text, told in (("admin-group = no-such-group\n", "no-such-group"),
                           ("kernels-dir = /no/such/folder\n", "/no/such/folder"),
                           ("listen-tcp = 127.0.0.1:0\n", "--tls-cert"),
                           ("metrics-address = 9478\n", "--metrics-address"),
                           ("metrics-address = 127.0.0.256:9478\n", "127.0.0.256"),
                           ("metrics-address = 127.0.0.1:70000\n", "70000"),
                           (f"socket-dir = /tmp/{100 * 'x'}\n", "--socket-dir"),
                           (f"reader-socket = {__file__}\n", "no socket"),
                           ("agent-socket = /tmp/x.sock\nadmin-socket = /tmp/x.sock\n", "cannot share /tmp/x.sock"),
                           ("store = /no/such/store\n", "--store"),
                           (f"store = {__file__}\n", "no folder"),
                           (f"backup-dir = {__file__}\n", "--backup-dir")):
            with self.subTest(text):
                path = self.write("[daemon]\n" + text)
                done = subprocess.run([BIN / "wavetuned", "--config", path, "--check-config"],
                                      env=environment(self.folder), capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1, text)
                self.assertIn(told, done.stderr)


class Service:
    """A program that runs as systemd would run it, on a notify socket of its own."""

    def __init__(self, case: Case, program: str, *arguments: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(case.folder / f"{program}.notify"))
        self.socket.settimeout(30)
        self.log = case.folder / f"{program}.log"
        with self.log.open("w") as log:
            facts = os.fstat(log.fileno())
            self.process = subprocess.Popen(
                [BIN / program, *arguments], stderr=log, stdout=log,
                env=environment(case.folder, NOTIFY_SOCKET=str(case.folder / f"{program}.notify"),
                                JOURNAL_STREAM=f"{facts.st_dev}:{facts.st_ino}"))
        case.addCleanup(self.end)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.socket.close()

    def await_message(self, wanted: str) -> str:
        """The next message that has the line `wanted`."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            message = self.socket.recv(4096).decode()
            if wanted in message.splitlines():
                return message
        raise TimeoutError(f"no {wanted}; log:\n{self.log.read_text()}")

    def await_log(self, wanted: str) -> None:
        deadline = time.monotonic() + 30
        while wanted not in self.log.read_text():
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {wanted!r} in the log:\n{self.log.read_text()}")
            time.sleep(0.02)

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)
        self.await_message("RELOADING=1")
        self.await_message("READY=1")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.await_message("STOPPING=1")
        return self.process.wait(20)


class DaemonServiceTest(Case):
    def config(self, more: str = "") -> pathlib.Path:
        return self.write(f"[daemon]\nstore = {self.folder}/store\nsocket-dir = {self.folder}\n"
                          f"log-level = info\n{more}")

    def start(self) -> Service:
        return Service(self, "wavetuned", "--config", str(self.config()))

    def test_it_tells_when_it_serves_that_it_lives_and_that_it_stops(self) -> None:
        daemon = self.start()
        self.assertIn("STATUS=serves", daemon.await_message("READY=1"))
        self.assertTrue((self.folder / "reader.sock").exists())
        for _ in range(3):
            daemon.await_message("WATCHDOG=1")
        self.assertEqual(daemon.stop(), 0)
        # As the journal reads it: journalctl --priority.
        for line in daemon.log.read_text().splitlines():
            self.assertRegex(line, r"^<[3-7]>2")

    def test_a_reload_takes_over_what_may_change_and_names_the_rest(self) -> None:
        daemon = self.start()
        daemon.await_message("READY=1")
        self.config(f"budget = 7\nadmin-socket = {self.folder}/other.sock\n")
        daemon.reload()
        daemon.await_log("budget is now 7; admin-socket takes a restart")
        self.assertFalse((self.folder / "other.sock").exists())
        daemon.reload()  # What waits for a restart still does.
        daemon.await_log("configuration: admin-socket takes a restart")
        self.config()
        daemon.reload()
        daemon.await_log("budget is now 60")
        self.assertEqual(daemon.stop(), 0)

    def test_a_log_level_holds_from_the_reload_on(self) -> None:
        daemon = self.start()
        daemon.await_message("READY=1")
        self.config("log-format = json\n")
        daemon.reload()
        daemon.await_log('"message":"has read')
        self.config("log-format = json\nlog-level = error\n".replace("log-level", "#log-level"))
        self.write((self.folder / "wavetune.conf").read_text().replace("log-level = info", "log-level = error"))
        daemon.reload()
        size = daemon.log.stat().st_size
        daemon.reload()
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(daemon.log.stat().st_size, size, daemon.log.read_text())

    def test_a_file_that_cannot_be_used_changes_nothing(self) -> None:
        daemon = self.start()
        daemon.await_message("READY=1")
        self.config("budget = 7\nnonsense = 1\n")
        daemon.process.send_signal(signal.SIGHUP)
        self.assertIn("STATUS=serves; a reload failed, see the log", daemon.await_message("READY=1"))
        daemon.await_log("the configuration stays as it was")
        daemon.await_log("has no key nonsense")
        self.assertEqual(daemon.stop(), 0)
        self.assertNotIn("budget is now", daemon.log.read_text())


class AgentServiceTest(Case):
    def config(self, level: str) -> pathlib.Path:
        trace = ROOT / "tests" / "data" / "h200_triton_gemm"
        return self.write(f"[agent]\nendpoint = unix://{self.folder}/agent.sock\nbackends = replay\n"
                          f"replay-trace = {trace}\ncache-dir = {self.folder}/cache\nlog-level = {level}\n")

    def test_it_tells_when_it_has_devices_that_it_lives_and_that_it_stops(self) -> None:
        agent = Service(self, "wavetune-agent", "--config", str(self.config("info")))
        self.assertIn("STATUS=has 1 device", agent.await_message("READY=1"))
        agent.await_message("WATCHDOG=1")
        self.config("nonsense")
        agent.reload()
        agent.await_log("the configuration stays as it was")
        self.config("error")
        agent.reload()
        size = agent.log.stat().st_size
        agent.reload()
        self.assertEqual(agent.log.stat().st_size, size, agent.log.read_text())
        self.assertEqual(agent.stop(), 0)


if __name__ == "__main__":
    unittest.main()
