#!/usr/bin/env python3
"""Emulated InfiniBand fabrics on two hosts, joined by a cable: one subnet under Debian's own tools and programs.

    fabric_join.py --build FOLDER [--match REGEX]

The hosts are network namespaces with a veth pair between them, made as root or as anybody.
"""
import json
import os
import re
import shutil
import sys
import tempfile
import time

import lab as lab_module
from fabric_lab import PATIENCE, Failure, case_options, expect, names, run_cases

LISTENER = 18874
GARBAGE = """
import os, random, socket, sys
random.seed(1)
for size in (1, 3, 64, 500, 5000, 100000):
    for _ in range(5):
        with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as peer:
            try:
                peer.sendall(bytes(random.randrange(256) for _ in range(size)))
            except OSError:
                pass
"""


class Joined:
    """The fabric "first" on host a, and whatever joins it from host b."""

    def __init__(self, lab):
        self.lab, (self.a, self.b) = lab, lab.pair
        self.folder = tempfile.mkdtemp(prefix="softrnic-join-")
        self.token = self.write_token("token", "what both of them know")
        self.env = {"XDG_RUNTIME_DIR": self.folder}
        if lab.mode == "root":
            os.chown(self.folder, int(lab_module.NOBODY), int(lab_module.NOBODY))
        self.port = 18900
        self.programs = []
        self.second = None
        self.first = self.start_first()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            program.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_first(self):
        first = self.start(self.a, "fabric", "up", "--foreground", "--name", "first", "--listen", self.a.address[4],
                           "--token-file", self.token)
        self.wait_for("the first fabric to come up", lambda: self.is_up(self.nodes("first")))
        return first

    def write_token(self, name, text):
        path = f"{self.folder}/{name}"
        with open(path, "w", opener=lambda p, flags: os.open(p, flags, 0o600), encoding="ascii") as file:
            file.write(text + "\n")
        if self.lab.mode == "root":
            os.chown(path, int(lab_module.NOBODY), int(lab_module.NOBODY))
        return path

    def start(self, host, *words):
        program = host.start(["softrnic", *words], self.env)
        self.programs.append(program)
        return program

    def run(self, host, *words, status=0):
        got, output = host.run(["softrnic", *words], self.env, timeout=PATIENCE)
        expect(got == status, f"softrnic {' '.join(map(str, words))} ended with {got}", output)
        return output

    @staticmethod
    def wait_for(what, ready):
        end = time.monotonic() + PATIENCE
        while not ready():
            if time.monotonic() > end:
                raise Failure(f"waited for {what} in vain")
            time.sleep(0.05)

    def nodes(self, fabric):
        status, output = self.a.run(["softrnic", "--json", "fabric", "show", "--name", fabric], self.env, timeout=PATIENCE)
        return json.loads(output)["nodes"] if status == 0 else []

    @staticmethod
    def is_up(nodes):
        """Every port that has a cable is active, and every end port has a LID."""
        ports = [port for node in nodes for port in node["ports"]]
        return bool(nodes) and all(port["state"] == "active" for port in ports if port.get("peer", {}).get("up", "peer" in port)) \
            and all(port["lid"] for port in ports if "lid" in port)

    def cables(self, fabric):
        """What is shown of cables to other fabrics: (node, port, up)."""
        return [(node["name"], port["port"], port["peer"]["up"]) for node in self.nodes(fabric) for port in node["ports"]
                if "fabric" in port.get("peer", {})]

    def join(self, name="second", token=None):
        return self.start(self.b, "fabric", "join", self.a.address[4], "--foreground", "--name", name, "--token-file",
                          token or self.token)

    def wait_until_joined(self, name="second"):
        self.wait_for(f"fabric {name} to come up", lambda: self.is_up(self.nodes(name)) and
                      all(up for *_, up in self.cables(name)) and self.is_up(self.nodes("first")))

    def discovered(self):
        """Names of all that ibnetdiscover finds from the first fabric, and its text."""
        text = self.run(self.a, "run", "--host", "first/host1", "--", "ibnetdiscover")
        return set(re.findall(r'^(?:Switch|Ca)\b.*# "([^"]+)"', text, re.M)), text

    def wait_until_discovered(self, wanted):
        self.wait_for(f"ibnetdiscover to find {sorted(wanted)}", lambda: self.discovered()[0] == wanted)

    def pair(self, server, client, argv, ends=True):
        """A program on a host of a joined fabric, and its peer on one of another. What the client prints."""
        serving = self.start(self.b, "run", "--host", server, "--", *argv[0])
        if not ends:
            expect(serving.wait_until(lambda: self.listens_for(self.b, server), PATIENCE), f"{argv[0]} does not listen", serving.output())
        else:
            expect(serving.wait_for_listener(self.port), f"{argv[0]} does not listen", serving.output())
        output = self.run(self.a if client.startswith("first/") else self.b, "run", "--host", client, "--", *argv[1])
        if ends:
            expect(serving.wait(PATIENCE) == 0, f"{argv[0]} failed", serving.output())
        serving.end()
        return output

    def listens_for(self, host, emulated):
        """Whether a program on that emulated host listens for connections of rdma_cm."""
        status, output = host.run(["softrnic", "run", "--host", emulated, "--", "softrnic", "--json", "resource", "show", "cm_id"],
                                  self.env)
        return status == 0 and any(entry["state"] == "LISTEN" for entry in json.loads(output))

    def pingpong(self, server="second/b-host1", client="first/host1"):
        self.port += 1
        argv = ["ibv_rc_pingpong", "-c", "-n", "200", "-p", str(self.port)]
        return self.pair(server, client, (argv, [*argv, self.b.address[4]]))

    def rping(self, server, client, address):
        """By rdma_cm and an emulated IP address."""
        argv = ["rping", "-a", address, "-C", "50", "-p", "7174", "-v"]
        output = self.pair(server, client, ([*argv, "-s"], [*argv, "-c", "-V"]), ends=False)
        expect(output.count("rdma-ping") == 50, f"rping from {client} to {server}", output)


FIRST = {"host1", "host2", "host3", "host4", "leaf1", "leaf2", "spine1"}


def of(letter):
    return {f"{letter}-host1", f"{letter}-host2", f"{letter}-switch1"}


def one_subnet(joined):
    """ibnetdiscover and the SA see one subnet, which the first fabric's manager manages."""
    joined.wait_until_discovered(FIRST | of("b"))
    expect(names(joined.nodes("second"), "channel adapter") == {"b-host1", "b-host2"}, "hosts of the second fabric")
    links = joined.run(joined.b, "run", "--host", "second/b-host2", "--", "iblinkinfo")
    expect('"b-switch1"' in links and '"spine1"' in links, "iblinkinfo from behind the cable", links)
    found = joined.run(joined.b, "run", "--host", "second/b-host1", "--", "saquery", "-N")
    expect(len(re.findall(r"NodeDescription", found)) == 10, "the administrator knows ten nodes", found)
    shown = joined.run(joined.a, "fabric", "show", "--name", "first")
    expect(re.search(rf"fabric at {re.escape(joined.b.address[4])}:\d+, up", shown), "the cable is shown", shown)


def traffic(joined):
    """Programs of both fabrics reach each other by LID, GID and emulated IP address."""
    joined.pingpong()
    joined.port += 1
    argv = ["ib_write_bw", "-F", "-n", "2000", "-p", str(joined.port)]
    joined.pair("second/b-host2", "first/host4", (argv, [*argv, joined.b.address[4]]))
    joined.port += 1
    argv = ["ibv_ud_pingpong", "-g", "0", "-p", str(joined.port)]
    joined.pair("second/b-host2", "first/host2", (argv, [*argv, joined.b.address[4]]))
    joined.rping("second/b-host1", "first/host3", "10.16.0.1")


def pulled(joined):
    """The cable is pulled at each end, and put back."""
    (node, port, _), = joined.cables("first")
    for fabric, switch, number in (("first", node, port), ("second", "b-switch1", 3)):
        joined.run(joined.a, "fabric", "link", switch, str(number), "down", "--name", fabric)
        joined.wait_for("both ends to be down", lambda: not any(up for end in ("first", "second") for *_, up in joined.cables(end)))
        joined.wait_until_discovered(FIRST)
        joined.run(joined.a, "fabric", "link", switch, str(number), "up", "--name", fabric)
        joined.wait_until_joined()
        joined.wait_until_discovered(FIRST | of("b"))
        joined.pingpong()


def unreachable(joined):
    """The hosts lose each other for longer than a cable waits; then the same fabric joins again by itself."""
    joined.b.configure("ip", "link", "set", "eth0", "down")
    joined.wait_for("both ends to be down", lambda: not any(up for end in ("first", "second") for *_, up in joined.cables(end)))
    joined.b.configure("ip", "link", "set", "eth0", "up")
    joined.wait_until_joined()
    joined.wait_until_discovered(FIRST | of("b"))
    joined.pingpong()


def restarted(joined):
    """The process of the first fabric is killed and started again: the second one comes back, with the names it had."""
    joined.first.process.kill()
    joined.first.wait(PATIENCE)
    joined.first = joined.start_first()
    joined.wait_until_joined()
    joined.wait_until_discovered(FIRST | of("b"))
    joined.pingpong()


def strangers(joined):
    """A wrong token is refused with a sentence; random bytes do nothing."""
    status, output = joined.b.run(["softrnic", "fabric", "join", joined.a.address[4], "--foreground", "--name", "third", "--token-file",
                                   joined.write_token("other", "what nobody else knows")], joined.env, timeout=PATIENCE)
    expect(status == 1 and "the token is not the one of this fabric" in output, f"a wrong token: {status}", output)
    status, output = joined.b.run([sys.executable, "-c", GARBAGE, joined.a.address[4], str(LISTENER)], joined.env, timeout=PATIENCE)
    expect(status == 0, "garbage could be sent", output)
    expect(joined.first.running and all(up for *_, up in joined.cables("first")), "the cable stays")
    joined.pingpong()


def killed(joined):
    """The process of the second fabric is killed; another one joins in its place, and a third beside it."""
    joined.second.process.kill()
    joined.wait_until_discovered(FIRST)
    joined.join("next")
    joined.wait_until_joined("next")
    joined.join("third")
    joined.wait_until_joined("third")
    joined.wait_until_discovered(FIRST | of("c") | of("d"))
    joined.pingpong("next/c-host1", "first/host1")
    joined.pingpong("third/d-host2", "first/host2")
    joined.rping("next/c-host2", "third/d-host1", "10.32.0.2")


CASES = (one_subnet, traffic, pulled, unreachable, restarted, strangers, killed)


def main():
    mode = lab_module.enter()
    options = case_options(__doc__)
    if mode == "plain" or not shutil.which("ibnetdiscover"):
        print("skipped: there are no namespaces here, or infiniband-diags is not installed")
        return 77
    with lab_module.Lab(mode, options.build) as lab, Joined(lab) as joined:
        joined.second = joined.join()
        joined.wait_until_joined()
        return run_cases(CASES, options.match, joined)


if __name__ == "__main__":
    sys.exit(main())
