#!/usr/bin/env python3
"""Kill -9 of either end of a connection at every stage of it: nobody hangs, nothing is left, the port is usable at once.

    kill.py --build FOLDER [--rounds N | --minutes N] [--on loopback,wire,pair] [--match REGEX] [--iwarp]

A round stops both ends at a stage, kills one, and lets the other go on: a client has to come to its end; a server has to serve
the next client. A killed server is started again on the same port at once. Then the daemons have no id left. In the end they have
no more descriptors and no more memory than when they had served for a while. --iwarp: on devices of iWARP, which have no datagrams
and no CONNECT_RESPONSE. Exit status 77: no network namespaces.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
import lab as lab_module  # noqa: E402

SKIPPED = 77
PORT = "7311"
PATIENCE = 60  # seconds
MOST_MEMORY = 512  # KiB that a daemon may grow by
WARM = 150  # rounds until the daemons have the pages of as many dead processes as they keep

# Whom the round kills, and where both ends stand then; "-": as far as they come by themselves, None: not started yet.
Round = collections.namedtuple("Round", "victim space server client")
ROUNDS = [Round(*words) for words in (
    ("server", "tcp", "created", "routed"),
    ("server", "tcp", "bound", "routed"),
    ("server", "tcp", "bound", "connecting"),
    ("server", "tcp", "listening", "routed"),
    ("server", "tcp", "requested", "connecting"),
    ("server", "tcp", "accepted", "responded"),
    ("server", "tcp", "accepted", "established"),
    ("server", "tcp", "established", "established"),
    ("server", "tcp", "disconnecting", "established"),
    ("server", "tcp", "disconnected", "disconnected"),
    ("server", "udp", "bound", "connecting"),
    ("server", "udp", "requested", "connecting"),
    ("server", "udp", "accepted", "established"),
    ("client", "tcp", "listening", "created"),
    ("client", "tcp", "listening", "resolving"),
    ("client", "tcp", "listening", "resolved"),
    ("client", "tcp", "listening", "routed"),
    ("client", "tcp", "bound", "connecting"),
    ("client", "tcp", "requested", "connecting"),
    ("client", "tcp", "accepted", "responded"),
    ("client", "tcp", "established", "established"),
    ("client", "tcp", "disconnected", "disconnecting"),
    ("client", "tcp", "disconnected", "disconnected"),
    ("client", "udp", "bound", "connecting"),
    ("client", "udp", "requested", "connecting"),
    ("client", "udp", "accepted", "established"),
)]


class Failed(Exception):
    pass


class Place:
    """Two hosts, or one, with their daemons."""

    def __init__(self, name, server, client, iwarp=False):
        self.name, self.server, self.client = name, server, client
        self.iwarp, self.env = iwarp, {"SOFTRNIC_DEVICE": "iw0"} if iwarp else {}
        self.hosts = [server] if server is client else [server, client]
        self.daemons = [host.start(["softrnic", "daemon"]) for host in self.hosts]
        for daemon in self.daemons:
            if not daemon.wait_for_output("ready"):
                raise Failed(f"no daemon:\n{daemon.output()}")
        for host in self.hosts if iwarp else ():
            netdev = "eth0" if len(self.hosts) == 2 else "lo"
            status, output = host.run(["softrnic", "link", "add", "iw0", "type", "iwarp", "netdev", netdev])
            if status != 0:
                raise Failed(f"no device:\n{output}")
        self.program = str(server.lab.build / "tests/interop/stages")

    def start(self, role, space, stage):
        host, to = (self.server, []) if role == "server" else (self.client, [self.server.address[4]])
        return host.start([self.program, role, space, PORT, stage, *to], self.env)

    def end(self):
        for daemon in self.daemons:
            daemon.end()

    def left(self):
        """The ids that the daemons still know of."""
        texts = [host.run(["softrnic", "--json", "resource", "show", "cm_id"])[1] for host in self.hosts]
        return [entry for text in texts for entry in json.loads(text)]

    def sizes(self):
        """[({kind: descriptors}, KiB of memory)] of the daemons."""
        return [(descriptors_of(d.process.pid), memory_of(d.process.pid)) for d in self.daemons]


def descriptors_of(pid):
    folder = pathlib.Path(f"/proc/{pid}/fd")
    return dict(collections.Counter(re.sub(r"[\d\[(].*", "", str(fd.readlink()).split(":[")[0]) for fd in folder.iterdir()))


def memory_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"RssAnon:\s+(\d+)", status.read())[1])


def arrived(program, role, stage):
    if not program.wait_for_output(rf"at {stage}\n", PATIENCE):
        raise Failed(f"the {role} did not come to stage {stage}")


def ended(program, role):
    status = program.wait(PATIENCE)
    if status != 0:
        raise Failed(f"the {role} {'hangs' if status is None else f'ended with status {status}'}")


def whole(place, space, server, started):
    """A client that has to succeed, and is the server's last."""
    client = place.start("whole", space, "-")
    started.append(client)
    ended(client, "next client")
    ended(server, "server of the next client")


def go_on(plan, other):
    os.kill(other.process.pid, signal.SIGUSR1)
    if plan.victim == "server":
        ended(other, "client")


def play(place, plan, started):
    server = place.start("server", plan.space, plan.server)
    started.append(server)
    early = plan.server in ("created", "bound", "listening")
    arrived(server, "server", plan.server if early else "listening")
    client = place.start("client", plan.space, plan.client)
    started.append(client)
    arrived(client, "client", plan.client)
    arrived(server, "server", plan.server)
    victim, other = (server, client) if plan.victim == "server" else (client, server)
    os.kill(victim.process.pid, signal.SIGKILL)
    victim.process.wait()
    # It would connect to the next server; so would one of iWARP that asks TCP again.
    goes_first = plan.client == "routed" or (place.iwarp and plan.server == "bound")
    if goes_first:
        go_on(plan, other)
    if plan.victim == "server":
        server = place.start("server", plan.space, "-")
        started.append(server)
        arrived(server, "next server", "listening")
    if not goes_first:
        go_on(plan, other)
    whole(place, plan.space, server, started)
    if place.left():
        raise Failed(f"left: {place.left()}")


def run_round(place, plan):
    started = []
    begun = time.monotonic()
    try:
        play(place, plan, started)
        return None
    except Failed as failure:
        outputs = "\n".join(f"---- {' '.join(p.shown)}\n{p.output()}" for p in started)
        return (f"{place.name}: killed the {plan.victim}, {plan.space}, server {plan.server}, client {plan.client}, "
                f"{time.monotonic() - begun:.1f} s: {failure}\n{outputs}")
    finally:
        for program in started:
            program.end()


def grown(place, before):
    return [f"{place.name}: a daemon had {old[0]} descriptors and {old[1]} KiB, and has {new[0]} and {new[1]}"
            for old, new in zip(before, place.sizes())
            if any(count > old[0].get(kind, 0) for kind, count in new[0].items()) or new[1] > old[1] + MOST_MEMORY]


def run(place, plans, lasts):
    """Failures. `lasts`: whether there is another round, after so many."""
    failures, before, number = [], None, 0
    while lasts(number):
        failure = run_round(place, plans[number % len(plans)])
        if failure:
            print(failure, flush=True)
            failures.append(failure)
        number += 1
        if number == WARM:
            before = place.sizes()
    if before:
        failures += grown(place, before)
    print(f"{place.name}: {number} rounds, {len(failures)} failed; daemons after {WARM}: {before}, in the end: {place.sizes()}",
          flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=0, help="at each place; every stage once unless given")
    parser.add_argument("--minutes", type=float, default=0, help="so long at each place instead")
    parser.add_argument("--on", default="loopback,pair")
    parser.add_argument("--match", default="", help="only stages whose line matches")
    parser.add_argument("--iwarp", action="store_true", help="on devices of iWARP")
    options = parser.parse_args()
    mode = lab_module.enter()
    plans = [plan for plan in ROUNDS if re.search(options.match, " ".join(plan))
             and not (options.iwarp and (plan.space == "udp" or plan.client == "responded"))]
    failures = []
    with lab_module.Lab(mode, options.build) as lab:
        places = list(lab.places(options.on.split(",")))
        for name, server, client in places:
            place = Place(name, server, client, options.iwarp)
            try:
                end = time.monotonic() + 60 * options.minutes
                rounds = options.rounds or len(plans)
                failures += run(place, plans, lambda number, end=end:
                                time.monotonic() < end if options.minutes else number < rounds)
            finally:
                place.end()
    print("\n".join(failures))
    return 1 if failures else 0 if places else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
