"""What the units, their users and their groups say fits together."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
ROLES = ("agent", "admin")


def settings(unit: str) -> dict[str, str]:
    """The settings of a unit; of one that is given twice the last."""
    found = {}
    for line in (DEPLOY / "systemd" / unit).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found[key] = value
    return found


def groups_of(unit: str) -> set[str]:
    """The groups that the process of a unit is in."""
    found = settings(unit)
    return {found["Group"], *found.get("SupplementaryGroups", "").split()}


def configured(section: str, key: str) -> str:
    """What deploy/wavetune.conf, which the units name, sets; empty where it does not."""
    text = (DEPLOY / "wavetune.conf").read_text().split(f"[{section}]\n")[1].split("\n[")[0]
    match = re.search(rf"(?m)^{key} = (.*)$", text)
    return match.group(1) if match else ""


def exposure(unit: str) -> float:
    """How exposed systemd-analyze calls a unit: 0 is not at all, 10 wholly."""
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", DEPLOY / "systemd" / unit],
                          capture_output=True, text=True, check=False)
    return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout).group(1))


def sysusers() -> list[list[str]]:
    """The lines of sysusers.d/wavetune.conf, as words."""
    text = (DEPLOY / "sysusers.d" / "wavetune.conf").read_text()
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


class UnitsTest(unittest.TestCase):
    def test_agents_and_admins_have_groups_of_their_own(self) -> None:
        groups = [configured("daemon", f"{role}-group") for role in ROLES]
        self.assertNotIn("", groups)
        self.assertEqual(len({*groups, settings("wavetuned.service")["Group"]}), 3, groups)

    def test_the_daemon_is_in_the_groups_that_it_gives_its_sockets_to(self) -> None:
        for role in ROLES:
            group = configured("daemon", f"{role}-group")
            self.assertIn(group, groups_of("wavetuned.service"))

    def test_the_agent_may_attach_and_not_administer(self) -> None:
        groups = groups_of("wavetune-agent.service")
        self.assertIn(configured("daemon", "agent-group"), groups)
        self.assertNotIn(configured("daemon", "admin-group"), groups)
        self.assertNotIn(settings("wavetuned.service")["Group"], groups)

    def test_every_user_and_group_is_made(self) -> None:
        made = {words[1] for words in sysusers() if words[0] in ("u", "g")}
        for unit in ("wavetuned.service", "wavetune-agent.service"):
            self.assertIn(settings(unit)["User"], made)
            self.assertLessEqual(groups_of(unit), made)

    def test_nobody_who_runs_kernels_is_made_a_member_of_the_others(self) -> None:
        members = {(words[1], words[2]) for words in sysusers() if words[0] == "m"}
        self.assertNotIn(("wavetune-agent", "wavetune"), members)
        self.assertNotIn(("wavetune-agent", "wavetune-admin"), members)


    def test_the_units_make_the_folders_that_the_configuration_names(self) -> None:
        self.assertEqual([configured("daemon", "store"), configured("daemon", "backup-dir")],
                         ["/var/lib/" + name for name in settings("wavetuned.service")["StateDirectory"].split()])
        self.assertEqual(configured("daemon", "socket-dir"),
                         "/run/" + settings("wavetuned.service")["RuntimeDirectory"])
        self.assertEqual(configured("agent", "cache-dir"),
                         "/var/cache/" + settings("wavetune-agent.service")["CacheDirectory"])
        self.assertEqual(configured("agent", "endpoint"), "unix:///run/wavetune/agent.sock")

    def test_the_store_is_backed_up_each_day_as_the_daemons_user(self) -> None:
        backup = settings("wavetune-backup.service")
        self.assertEqual(backup["User"], settings("wavetuned.service")["User"])
        self.assertIn(f"unix:{configured('daemon', 'socket-dir')}/reader.sock store backup", backup["ExecStart"])
        self.assertEqual(settings("wavetune-backup.timer")["OnCalendar"], "daily")

    def test_both_tell_systemd_that_they_live_and_leave_the_node_to_others(self) -> None:
        for unit in ("wavetuned.service", "wavetune-agent.service"):
            found = settings(unit)
            self.assertEqual(found["Type"], "notify")
            for key in ("WatchdogSec", "CPUWeight", "IOWeight", "MemoryHigh", "MemoryMax"):
                self.assertIn(key, found, unit)
            self.assertEqual(found["UMask"], "0077")
            self.assertIn("/etc/wavetune/wavetune.conf", found["ExecStart"])
        self.assertEqual(settings("wavetuned.service")["StateDirectoryMode"], "0700")
        self.assertEqual(settings("wavetuned.service")["RuntimeDirectoryPreserve"], "yes")
        self.assertGreater(int(settings("wavetune-agent.service")["Nice"]), 0)


@unittest.skipUnless(shutil.which("systemd-analyze"), "skipped: no systemd-analyze here")
class SandboxTest(unittest.TestCase):
    def test_the_daemon_can_do_little_and_the_agent_what_drivers_need(self) -> None:
        self.assertLessEqual(exposure("wavetuned.service"), 1.0)
        self.assertLessEqual(exposure("wavetune-backup.service"), 1.0)
        self.assertLessEqual(exposure("wavetune-agent.service"), 2.0)


@unittest.skipUnless(shutil.which("systemd-sysusers"), "skipped: no systemd-sysusers here")
class SysusersTest(unittest.TestCase):
    def test_systemd_makes_them(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(f"{root}/etc")
            subprocess.run(
                ["systemd-sysusers", f"--root={root}", DEPLOY / "sysusers.d" / "wavetune.conf"],
                check=True, capture_output=True)
            lines = pathlib.Path(root, "etc/group").read_text().splitlines()
            members = {line.split(":")[0]: set(line.split(":")[3].split(",")) for line in lines}
            self.assertIn("wavetune", members["wavetune-agent"])
            self.assertIn("wavetune", members["wavetune-admin"])
            self.assertNotIn("wavetune-agent", members["wavetune"] | members["wavetune-admin"])


if __name__ == "__main__":
    unittest.main()
