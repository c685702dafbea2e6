"""Programs of an earlier version and of this one on one node, in each order: they work together, or say which to upgrade.

    WAVETUNE_OLD_BIN_DIR=/tmp/older/build/dev/bin python3 tests/hostile/version_skew.py

`scripts/soak.sh skew` builds the earlier version from WAVETUNE_OLD_REVISION.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from node import Node, check, main, wait_until  # pylint: disable=wrong-import-position

OLD = pathlib.Path(os.environ.get("WAVETUNE_OLD_BIN_DIR", ""))
PROGRAMS = ("wavetuned", "wavetune-agent", "wavetune")


def works_together(old):
    """A profile is made and decided with where `old` are of the earlier version, the others of this one."""
    with Node(bins={program: OLD for program in old}) as node:
        node.add_kernel("column_sum")
        node.start_daemon()
        node.start_agent()
        digest = node.serve_table("column_sum")
        decision = node.json("resolve", "column_sum", "n=700", "k=100")
        check(decision.get("digest") == digest, "a client decides with the table")
        check(decision.get("origin") == "from the daemon", "which it has from the daemon")


def upgrade_in_place():
    """One node whose programs are replaced one after the other, daemon first; its store and its tables stay."""
    with Node(bins={program: OLD for program in PROGRAMS}) as node:
        node.add_kernel("column_sum")
        node.start_daemon()
        node.start_agent()
        digest = node.serve_table("column_sum")
        samples = node.json("status")["samples"]
        for program in PROGRAMS:
            del node.bins[program]
            if program == "wavetuned":
                node.stop(node.daemon)
                node.start_daemon()
            if program == "wavetune-agent":
                node.stop(node.agent)
                node.start_agent()
            wait_until(lambda: node.json("status").get("devices_attached", 0) > 0, 60, "the agent is attached")
            decision = node.json("resolve", "column_sum", "n=700", "k=100")
            check(decision.get("digest") == digest, f"the table serves on after the upgrade of {program}")
        check(node.json("status")["samples"] >= samples, "no sample is lost")


def downgrade():
    """The earlier daemon on the store of this one: it reads it, or refuses it and leaves it as it is."""
    with Node() as node:
        node.add_kernel("column_sum")
        node.start_daemon()
        node.start_agent()
        digest = node.serve_table("column_sum")
        node.stop(node.agent)
        node.stop(node.daemon)
        node.bins = {"wavetuned": OLD}
        node.start_daemon(wait=False)
        wait_until(lambda: node.daemon.poll() is not None or node.cli("status").returncode == 0, 60,
                   "the earlier daemon answers or ends")
        if node.daemon.poll() is not None:
            check("schema" in node.log(), "the earlier daemon says why it does not open the store")
        else:
            node.stop(node.daemon)
        node.bins = {}
        node.start_daemon()
        check(node.json("tables", "list")["tables"][0]["digest"] == digest, "the store is as it was")


def scenario():
    check((OLD / "wavetuned").exists(), f"WAVETUNE_OLD_BIN_DIR ({OLD}) has programs")
    for program in PROGRAMS:
        print(f"-- only {program} is older", flush=True)
        works_together([program])
        print(f"-- only {program} is newer", flush=True)
        works_together([other for other in PROGRAMS if other != program])
    print("-- an upgrade in place", flush=True)
    upgrade_in_place()
    print("-- a downgrade", flush=True)
    downgrade()


main(scenario)
