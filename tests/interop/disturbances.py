#!/usr/bin/env python3
"""Reliable connections between two hosts while something happens to the network or to a program: a message nobody sent arrives, the
MTU falls, an address goes, the link goes down, a route changes, a process is stopped.

    disturbances.py --build FOLDER [--match REGEX]

What passes by is ridden through with every byte right; what stays ends the client, which is told why. Nobody hangs. The judge
of whether anything was disturbed is the kernel: it counts what leaves meanwhile. Exit status 77: no network namespaces.

The programs agree with each other over TCP, on a second veth pair, to which nothing happens: when an address or a netdev goes,
the kernel cuts TCP's segments to 36 bytes, and perftest takes a message that read(2) gives it in parts for an error.
"""
import collections
import contextlib
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import scenes  # noqa: E402

PATIENCE = 60  # seconds
PORT = 18515
MTU = 9000  # carries path MTU 4096
TOO_SMALL = 1500
MOMENT = 0.25  # seconds, and what ip(8) takes where others have the processors
RIDES = "17"  # ACK timeout of a program that is to ride through that: 0.54 s, seven times
BETWEEN = 0.5  # seconds
FLOWING = 4 << 20  # bytes that have passed when something happens
STREAM = 4  # seconds; a program is stopped for three of them
LITTLE = 256 << 10  # bytes that pass at most while payload cannot; the stream sends so much in some milliseconds

SILENT = "no answer to PSN"

# What is done on hosts a (the client's) and b; how it is undone (None: it is done once, and stays); the families of addresses
# that it is tried with; whether the client may go on; what it is told if it does not; the program: one that compares every
# byte, or one that has packets under way all the time and makes no queue pairs meanwhile; and whether it cuts payload off.
Scene = collections.namedtuple("Scene", "name do undo families rides told load cuts", defaults=("verify", False))


def ip(host, *words):
    host.configure("ip", *words)


def forge(run):
    """From both sides, about each other; an IPv6 link has 1280 bytes at least, an IPv4 path may have 552 (min_pmtu)."""
    a, b = run.hosts
    for target, peer in ((a, b), (b, a)):
        peer.configure(sys.executable, HERE / "forge_icmp.py", target.address[run.family], peer.address[run.family],
                       1280 if run.family == 6 else 600)


def without_address(run):
    ip(run.hosts[0], "address", "del", f"{run.own}", "dev", "eth0")


def with_address(run):
    ip(run.hosts[0], "address", "add", f"{run.own}", "dev", "eth0")


def small_behind(run):
    """Whole packets vanish on the way, and nothing says so. What has the offload would be cut up behind the place."""
    run.hosts[0].configure("ip", "link", "set", "eth0", "gso_max_segs", "1")
    ip(run.hosts[1], "link", "set", "eth0", "mtu", TOO_SMALL)


def refuse_the_peer(run):
    """The way back to the peer leaves by another netdev, so the client's kernel refuses what comes from it (RFC 3704). What the
    client sends still goes to the peer, by a rule that heeds where it leaves from."""
    host = run.hosts[0]
    ip(host, "rule", "add", "priority", "100", "from", run.own.split("/")[0], "table", "100")
    ip(host, "route", "add", run.peer, "dev", "eth0", "table", "100")
    ip(host, "route", "add", run.peer, "dev", "lo")
    host.configure("sysctl", "-q", "net.ipv4.conf.eth0.rp_filter=1")


def change(*words):
    """A command of ip(8) on the client's host; {peer} is the server's address."""
    return lambda run: ip(run.hosts[0], *(word.replace("{peer}", run.peer) for word in words))


def set_link(*words):
    return change("link", "set", "eth0", *words)


SCENES = (
    Scene("forged-icmp", forge, lambda run: None, (4, 6), True, None),
    Scene("mtu-falls-for-a-moment", set_link("mtu", str(TOO_SMALL)), set_link("mtu", str(MTU)), (4,), True, None, "stream", True),
    Scene("address-goes-for-a-moment", without_address, with_address, (4,), True, None, "stream", True),
    Scene("link-down-for-a-moment", set_link("down"), set_link("up"), (4,), True, None, "stream", True),
    Scene("unreachable-for-a-moment", change("route", "add", "unreachable", "{peer}"),
          change("route", "del", "unreachable", "{peer}"), (4, 6), True, None, cuts=True),
    Scene("another-route", change("route", "add", "{peer}", "dev", "eth0", "mtu", "1300"),
          change("route", "del", "{peer}", "dev", "eth0"), (4, 6), True, None),
    Scene("mtu-falls", set_link("mtu", str(TOO_SMALL)), None, (4, 6), False,
          rf"the kernel did not send a packet of \d+ bytes: the MTU of the netdev is {TOO_SMALL}", "stream"),
    Scene("the-way-has-a-small-mtu", small_behind, None, (4, 6), False,
          rf"needs an MTU of \d+ bytes along the whole way, of which this host knows {MTU}", "stream"),
    Scene("link-down", set_link("down"), None, (4,), False, SILENT, "stream"),
    Scene("client-stopped-for-3-s", lambda run: run.stop(0), None, (4,), True, SILENT, "stream"),
    Scene("server-stopped-for-3-s", lambda run: run.stop(1), None, (4,), True, SILENT, "stream"),
)


class Run(scenes.Run):
    def __init__(self, lab, scene, family, meeting_place):
        super().__init__()
        self.hosts, self.scene, self.family, self.meeting_place = lab.pair, scene, family, meeting_place
        self.own, self.peer = f"{self.hosts[0].address[family]}/{24 if family == 4 else 64}", self.hosts[1].address[family]
        self.meanwhile, self.between = [], []  # bytes that left the client's host during each disturbance, and after it

    def start(self, host, *more):
        gid = host.gid_index(self.family)
        if self.scene.load == "verify":
            argv = [host.lab.build / "tests/interop/verify", "--gid-index", gid, "--port", PORT, "--mtu", "4096",
                    "--type", "rc", "--messages", "2000", *(["--ack-timeout", RIDES] if self.scene.undo else [])]
        else:
            argv = ["ib_write_bw", "-x", gid, "-p", PORT, "-m", "4096", "-s", "65536", "-D", STREAM, "-f", "1",
                    *(["-u", RIDES] if self.scene.undo else [])]
        program = host.start([*argv, *more], {"SOFTRNIC_EXPLAIN": "1"})
        self.programs.append(program)
        return program

    def stop(self, which):
        process = self.programs[1 - which].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        process.send_signal(signal.SIGCONT)

    def running(self):
        return all(program.running for program in self.programs)

    def passed(self):
        """Bytes that have left the client's host."""
        return self.hosts[0].traffic("eth0")[0]

    def passed_within(self, seconds):
        before = self.passed()
        time.sleep(seconds)
        return self.passed() - before

    def disturb(self):
        """Again and again what can be undone, else once. How often both programs saw it to its end."""
        before = self.passed()
        while self.running() and self.passed() < before + FLOWING:
            time.sleep(0.01)
        while self.running():
            self.scene.do(self)
            if self.scene.undo is None:
                return 1
            passed = self.passed_within(MOMENT)
            if self.running():
                self.meanwhile.append(passed)
            self.scene.undo(self)
            passed = self.passed_within(BETWEEN)
            if self.running():
                self.between.append(passed)
        return len(self.meanwhile)

    def judge_passed(self):
        """What is wrong with how many bytes left the client's host."""
        if not self.scene.cuts:
            return None
        if max(self.meanwhile) > LITTLE:
            return f"payload was not cut off: {self.meanwhile} bytes left meanwhile"
        return "payload did not go on" if max(self.between, default=FLOWING) <= LITTLE else None

    def judge(self, seen):
        server, client = self.programs
        ended = client.wait(PATIENCE)
        if not seen:
            return "the programs had ended before anything happened"
        if wrong := self.judge_passed():
            return wrong
        if ended is None:
            return "the client hangs"
        if ended == 0:
            if not self.scene.rides:
                return "the client went on"
            return None if server.wait(PATIENCE) == 0 else f"the server ended with {server.wait(0)}"
        if not self.scene.told:
            return f"the client ended with {ended}"
        return None if re.search(self.scene.told, client.output()) else f"the client was not told {self.scene.told!r}"

    def run(self):
        server = self.start(self.hosts[1])
        if not server.wait_for_listener(PORT):
            return "the server does not listen"
        self.start(self.hosts[0], self.meeting_place)
        return self.judge(self.disturb())


def restore(lab):
    """The hosts as they were, whatever a scene has left."""
    for host in lab.pair:
        with contextlib.suppress(Exception):
            host.configure("ip", "link", "set", "eth0", "gso_max_segs", "65535")
        host.mtu = None
        ip(host, "link", "set", "eth0", "up")
        for family in ("-4", "-6"):  # what ICMP has said of paths
            ip(host, family, "route", "flush", "cache")
    lab.set_mtu(MTU)
    for host in lab.pair:  # a netdev that goes down, or cannot carry IPv6, loses these
        ip(host, "address", "replace", f"{host.address[6]}/64", "dev", "eth0", "nodad")


def runs(lab):
    meeting_place = lab.join_beside()

    def make(scene, family):
        restore(lab)
        return Run(lab, scene, family, meeting_place)

    for scene in SCENES:
        for family in scene.families:
            yield f"{scene.name}, IPv{family}", lambda scene=scene, family=family: make(scene, family)


if __name__ == "__main__":
    sys.exit(scenes.main(__doc__, runs))
