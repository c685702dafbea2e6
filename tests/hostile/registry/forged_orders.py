"""Somebody without a key writes withdrawals of his own, and puts what nodes signed for a rollout where it was not signed for."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fleet import ENVIRONMENT, SILICON, Fleet, Key, TurningAgent  # pylint: disable=wrong-import-position
from node import check, main, proto, wait_until  # pylint: disable=wrong-import-position

KERNEL = "repeats"


def signed(envelope, message):
    """The content of an envelope."""
    messages = proto("fleet_pb2")
    return getattr(messages, message).FromString(messages.FleetEnvelope.FromString(envelope).content)


def rollouts(fleet):
    """Ends with a head that no rollout has."""
    messages = proto("fleet_pb2")
    place = f"trials/{fleet.place}/{KERNEL}"
    head = f"heads/{fleet.place}/{KERNEL}"
    node = fleet.nodes[0]
    before = signed(fleet.etcd.get(head), "FleetHeadContent")
    wait_until(lambda: any(spread.get("measuring") == 3 for spread in node.json("fleet", "nodes").get("spreads", [])), 60,
               "the stages are drawn from all nodes")
    TurningAgent.turned = True
    result = node.cli("reprofile", "--kernel", KERNEL, "--fleet", "--stages", "1,100", "--hold", "3600",
                      "--samples-per-candidate", "8", "--fresh")
    check(result.returncode == 0, f"a rollout is asked for {result.stderr.strip()}")

    def rollout():
        value = fleet.etcd.get(place)
        return value and messages.FleetRollout.FromString(value)
    wait_until(lambda: rollout() and rollout().stage, 180, "a rollout is in its first stage")
    trial = signed(rollout().plan, "FleetRolloutContent").head.digest
    check(trial != before.digest, "it is another table")

    def trying():
        return sum(fleet.digest(i, KERNEL) == trial for i in range(len(fleet.nodes)))
    wait_until(lambda: trying() >= 2, 60, "its node, and the one of the stage, try it")
    check(trying() == 2, "nobody else tries it")
    # A stage of everybody, which its node has not signed.
    skipped = rollout()
    envelope = messages.FleetEnvelope.FromString(skipped.stage)
    stage = messages.FleetStageContent.FromString(envelope.content)
    stage.threshold = 2**32 - 1
    for forged in (messages.FleetEnvelope(format=1, content=stage.SerializeToString(), public_key=envelope.public_key,
                                          signature=envelope.signature).SerializeToString(),
                   Key(fleet.folder / "rogue").envelope("stage", stage.SerializeToString())):
        skipped.stage = forged
        fleet.etcd.put(place, skipped.SerializeToString())
        time.sleep(8)
        check(trying() <= 2, "who is no node of the stage does not try it, whatever nobody trusted signed")
    # What is signed for the rollout, as it is, at the place of a head.
    for value in (skipped.plan, skipped.SerializeToString()):
        fleet.etcd.put(head, value)
        time.sleep(8)
        for i, one in enumerate(fleet.nodes):
            served = one.json("fleet", "status").get("heads", [{}])[0].get("digest", "")
            check(served != trial, f"what was signed for a rollout is no head of node-{i}")


def withdrawals(fleet, digest):
    messages = proto("fleet_pb2")
    rogue = Key(fleet.folder / "rogue")

    def withdraw(key, of):
        content = messages.FleetWithdrawalContent(
            fleet="/wavetune/", kernel=KERNEL, fingerprint=fingerprint, silicon_key=SILICON, environment_key=ENVIRONMENT,
            digest=of, node="node-0", why="wrong result at m=7", at_us=int(time.time() * 1e6))
        fleet.etcd.put(f"orders/{fleet.place}/withdrawn/{KERNEL}/{of}",
                       key.envelope("withdrawal", content.SerializeToString()))
    fingerprint = signed(fleet.etcd.get(f"heads/{fleet.place}/{KERNEL}"), "FleetHeadContent").fingerprint
    for i in range(120):
        withdraw(rogue, f"{i:064x}")
    time.sleep(2)
    fleet.check_all_serve(KERNEL, digest, "beside withdrawals that nobody trusted signed")
    withdraw(fleet.keys[0], digest)
    wait_until(lambda: all(fleet.digest(i, KERNEL) != digest for i in range(len(fleet.nodes))), 30,
               "the one that counts ends the serving on all nodes")
    fleet.restart(1)
    time.sleep(5)
    check(fleet.digest(1, KERNEL) != digest, "it does not serve after a restart, either")


def scenario():
    with Fleet(3) as fleet:
        digest = fleet.serve(KERNEL)
        withdrawals(fleet, digest)
    with Fleet(3) as fleet:
        fleet.serve(KERNEL)
        rollouts(fleet)


main(scenario)
