#!/usr/bin/env python3
"""Automatic path migration between two hosts that two links join: the link of the path in use goes down under traffic, and the queue
pair goes on by the other one; later that goes down, and it comes back.

    migration.py --build FOLDER [--match REGEX]

The device is that of the loopback netdev, whose two addresses are reached by one link each, as on hosts that announce theirs to two
routers: so a link that goes down takes neither port nor address with it. A third link, to which nothing happens, is for TCP. The
judge is `migrate`, which compares every byte and counts IBV_EVENT_PATH_MIG on both sides; and the kernel, which counts what leaves
by the link that is left. Exit status 77: no network namespaces.
"""
import ipaddress
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import scenes  # noqa: E402

PATIENCE = 60  # seconds
PORT = 18600
DEVICE = "soft1"
LINKS = ("eth1", "eth2")
FLOWING = 1 << 20  # bytes that leave by a link in use


def address(family, link, host):
    return f"10.88.{link}.{host}" if family == 4 else f"fd88:{link}::{host}"


class Host:
    """A host of the lab with two addresses and a link for each."""

    def __init__(self, host, own, peer):
        self.host, self._own, self._peer = host, own, peer

    def join(self):
        for link, netdev in enumerate(LINKS, 1):
            for family, length in ((4, 32), (6, 128)):
                self._ip("address", "add", f"{address(family, link, self._own)}/{length}", "dev", "lo")
            self.set_link(link, "up")
        status, said = self.host.run(["softrnic", "link", "add", DEVICE, "type", "roce", "netdev", "lo"])
        if status != 0:
            raise RuntimeError(f"no device {DEVICE}: {said}")

    def set_link(self, link, state):
        """A netdev that goes down takes its routes with it, and its address of IPv6."""
        netdev = LINKS[link - 1]
        self._ip("link", "set", netdev, state)
        if state == "up":
            self._ip("address", "replace", f"fe80::88:{self._own}/64", "dev", netdev, "nodad")
            self._ip("route", "replace", f"{address(4, link, self._peer)}/32", "dev", netdev, "src", address(4, link, self._own))
            self._ip("-6", "route", "replace", f"{address(6, link, self._peer)}/128", "via", f"fe80::88:{self._peer}", "dev", netdev,
                     "src", address(6, link, self._own))

    def gid_index(self, family, link):
        wanted = ipaddress.IPv6Address(f"::ffff:{address(4, link, self._own)}" if family == 4 else address(6, link, self._own))
        status, said = self.host.run(["softrnic", "--json", "link", "show", DEVICE])
        gids = json.loads(said)[0]["gids"] if status == 0 else []
        return next(gid["index"] for gid in gids if ipaddress.IPv6Address(gid["gid"]) == wanted)

    def left_by(self, link):
        """Bytes that have left by a link."""
        return self.host.traffic(LINKS[link - 1])[0]

    def start(self, family, *more):
        return self.host.start([self.host.lab.build / "tests/interop/migrate", "--gid-index", self.gid_index(family, 1),
                                "--alternate-gid-index", self.gid_index(family, 2), "--migrations", 2, "--port", PORT, *more],
                               {"SOFTRNIC_EXPLAIN": "1", "SOFTRNIC_DEVICE": DEVICE})

    def _ip(self, *words):
        self.host.configure("ip", *words)


class Run(scenes.Run):
    """`end`: on whose host links go down. The other one hears nothing of it but silence."""

    def __init__(self, hosts, family, end):
        super().__init__()
        self._server, self._client = hosts
        self._family, self._end = family, hosts[end]

    def _both_say(self, what, times):
        for program in self.programs:
            if not program.wait_until(lambda p=program: len(re.findall(f"^{what}:", p.output(), re.MULTILINE)) >= times, PATIENCE):
                return f"not {what!r} ×{times}: {' '.join(program.shown)}"
        return None

    def _flows(self, link):
        """None when traffic leaves by a link."""
        before = self._client.left_by(link)
        flowing = self.programs[1].wait_until(lambda: self._client.left_by(link) > before + FLOWING, PATIENCE)
        return None if flowing else f"nothing goes by link {link}"

    def _away_from(self, link, times):
        failure = self._both_say("armed", times) or self._flows(link)
        if failure:
            return failure
        self._end.set_link(link, "down")
        failure = self._both_say("migrated", times)
        self._end.set_link(link, "up")
        return failure

    def run(self):
        server = self._server.start(self._family)
        self.programs.append(server)
        if not server.wait_for_listener(PORT):
            return "the server does not listen"
        self.programs.append(self._client.start(self._family, self._server.host.address[4]))
        failure = self._away_from(1, 1) or self._away_from(2, 2)
        if failure:
            return failure
        statuses = [program.wait(PATIENCE) for program in self.programs]
        return None if statuses == [0, 0] else f"server and client ended with {statuses}"


def runs(lab):
    for netdev in LINKS:
        lab.join_by(netdev)
    hosts = [Host(lab.pair[0], 1, 2), Host(lab.pair[1], 2, 1)]
    for host in hosts:
        host.join()
    for family in (4, 6):
        for end, whose in enumerate(("server", "client")):
            yield f"links of the {whose} go down, IPv{family}", lambda family=family, end=end: Run(hosts, family, end)


if __name__ == "__main__":
    sys.exit(scenes.main(__doc__, runs))
