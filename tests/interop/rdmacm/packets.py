#!/usr/bin/env python3
"""What our connection manager sends, as wireshark reads it, beside what Linux sent for the same programs.

    packets.py --build FOLDER [--show]

Two hosts run a program of rdma_cm with a daemon that captures. tshark has to dissect every packet of QP1 without complaint, and
the messages have to be those of the kernel's capture in tests/golden/data: the same ones in the same order, with the same
fields, except where a field says who somebody is. Exit status 77: no tshark, or no network namespaces.
"""
import argparse
import collections
import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
import lab as lab_module  # noqa: E402
from session import Call, Session  # noqa: E402

GOLDEN = ROOT / "tests/golden/data"
SKIPPED = 77

# until: the client has done its part when it prints this; rping waits for ever then.
Scene = collections.namedtuple("Scene", "golden call until", defaults=("",))
RPING = ["-C", "2"]
SCENES = (
    Scene("rxe-rping", Call(["rping", "-s", *RPING], ["rping", "-c", "-a", "{server}", *RPING], cm_port=7174)),
    Scene("rxe-rping-v6", Call(["rping", "-s", "-a", "::", *RPING], ["rping", "-c", "-a", "{server6}", *RPING], cm_port=7174)),
    Scene("rxe-udaddy", Call(["udaddy", "-c", "1"], ["udaddy", "-s", "{server}", "-c", "1"], cm_port=7174)),
    Scene("rxe-cm-reject", Call([], ["rping", "-c", "-a", "{server}", *RPING]), "RDMA_CM_EVENT_REJECTED"),
)

# Fields that name somebody, or hold others: they differ from run to run. That they fit one another the replay of the captures
# checks (tests/golden/cm_test.cc).
NAMES = ("infiniband.bth", "infiniband.bth.psn", "infiniband.invariant.crc", "infiniband.mad", "infiniband.mad.data",
         "infiniband.mad.transactionid", "infiniband.smplid.smpdata", "infiniband.cm.req", "infiniband.cm.rep", "infiniband.cm.drep",
         "infiniband.cm.*commid", "infiniband.cm.*requestid", "infiniband.cm.*localcaguid", "infiniband.cm.*qpn", "infiniband.cm.req.remoteqpneecn",
         "infiniband.cm.*startpsn", "infiniband.cm.req.prim_*gid*", "infiniband.cm.*ip_cm", "infiniband.cm.*ip_cm.[sd]ip*",
         "infiniband.cm.*ip_cm.sport")
# Fields with values of our own: what we send, and why.
CHOSEN = {
    "infiniband.bth.m": ["1"],  # as adapters do; the soft driver of Linux says 0
    "infiniband.cm.req.prim_localacktout": ["0x13"],  # more generous, see src/cma/path.cc
    "infiniband.cm.req.prim_pktrate": None,  # the port's; the soft driver of Linux says "the port's" by 0
    "infiniband.cm.req.prim_reserved0": None,  # wireshark takes bits of the flow label and the rate for it
    "infiniband.cm.req.prim_flowlabel": None,  # spreads connections; Linux takes it from a hash as well
}


def messages_of(capture):
    """[(attribute, {field: values}, complaints)] of the management datagrams of a capture."""
    text = subprocess.run(["tshark", "-r", capture, "-Y", "infiniband.mad", "-T", "json", "--no-duplicate-keys"], check=True,
                          capture_output=True, text=True).stdout
    return [fields_of(packet["_source"]["layers"]) for packet in json.loads(text)]


def leaves(tree, name=""):
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from leaves(value, name)
    else:
        yield name, tree


def fields_of(layers):
    fields = collections.defaultdict(list)
    for name, value in leaves(layers["infiniband"]):
        fields[name].append(value)
    complaints = [name for name in layers if name.startswith("_ws.malformed")]
    complaints += [value for name, value in leaves(layers["infiniband"]) if name == "_ws.expert.message"]
    return fields["infiniband.mad.attributeid"][0], fields, complaints


def compare(ours, kernels):
    """What differs between two lists of messages."""
    kinds = [[kind for kind, _, _ in messages] for messages in (ours, kernels)]
    if kinds[0] != kinds[1]:
        return [f"messages {kinds[0]}, the kernel's are {kinds[1]}"]
    found = []
    for (kind, mine, _), (_, theirs, _) in zip(ours, kernels):
        for field in sorted({*mine, *theirs}):
            if any(fnmatch.fnmatchcase(field, name) for name in NAMES):
                continue
            wanted = CHOSEN.get(field, theirs.get(field, []))
            if wanted is not None and mine.get(field, []) != wanted:
                found.append(f"message {kind}: {field} is {mine.get(field, [])}, wanted {wanted}")
    return found


def captured(lab, scene, folder):
    """Runs the scene between the two hosts; (failure or None, capture of the server's host)."""
    daemons, captures = [], []
    for host in lab.pair:
        captures.append(str(pathlib.Path(folder) / f"{host.name}-{scene.golden}.pcapng"))
        daemons.append(host.start(["softrnic", "daemon"], {"SOFTRNIC_CAPTURE": captures[-1]}))
    try:
        if not all(daemon.wait_for_output("ready") for daemon in daemons):
            return "no daemon:\n" + "\n".join(daemon.output() for daemon in daemons), None
        session = Session(*lab.pair, scene.call)
        failure = session.run_until(scene.until) if scene.until else session.run()
        return (f"{failure}\n{session.report()}" if failure else None), captures[0]
    finally:
        for daemon in daemons:
            daemon.end()


def check(lab, scene, folder, show):
    failure, capture = captured(lab, scene, folder)
    if failure:
        return [failure]
    ours, kernels = messages_of(capture), messages_of(str(GOLDEN / f"{scene.golden}.pcap"))
    if show:
        for kind, fields, _ in ours:
            print(kind, dict(fields))
    complaints = [f"tshark says {what} of message {kind}" for kind, _, complaints in ours for what in complaints]
    return complaints + compare(ours, kernels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--show", action="store_true", help="print every message")
    options = parser.parse_args()
    if shutil.which("tshark") is None:
        print("no tshark")
        return SKIPPED
    mode = lab_module.enter()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="softrnic-packets-") as folder, lab_module.Lab(mode, options.build) as lab:
        pathlib.Path(folder).chmod(0o777)  # the hosts' programs run as an ordinary user
        if not lab.pair:
            print("skipped: this system allows no network namespaces")
            return SKIPPED
        for scene in SCENES:
            failures = check(lab, scene, folder, options.show)
            failed += bool(failures)
            print(f"{'FAILED' if failures else 'ok    '} {scene.golden}")
            print("".join(f"       {line}\n" for failure in failures for line in failure.splitlines()), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
