#!/usr/bin/env python3
"""An emulated InfiniBand fabric under Debian's own tools and programs: what they print is compared with the topology.

    fabric.py --build FOLDER [--match REGEX]

Runs as whoever starts it, in a network of its own where that can be had. Each case has a fabric of its own.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from fabric_flows import arbitration, incast
from fabric_hops import hops, reroute
from fabric_lab import PATIENCE, Fabric, Failure, case_options, enter_network, expect, names, retry, run_cases, write_file


def discovery(build):
    """ibnetdiscover, ibhosts, ibswitches and iblinkinfo find the nodes and cables that are there, each once."""
    for shape in ("", "fat-tree:k=4", "torus:3x3", "dragonfly:a=2,p=1,h=1"):
        with Fabric(build, *([shape] if shape else [])) as fabric:
            nodes = fabric.nodes()
            hosts, switches = names(nodes, "channel adapter"), names(nodes, "switch")
            expect(set(re.findall(r'^Ca.*"(.*)"$', fabric.run("host1", "ibhosts"), re.M)) == hosts, f"ibhosts of '{shape}'")
            found = fabric.run("host1", "ibswitches")
            expect(set(re.findall(r'^Switch.*"(\S+)" base', found, re.M)) == switches, f"ibswitches of '{shape}'", found)
            text = fabric.run("host1", "ibnetdiscover")
            ends = len(re.findall(r"^\[\d+\]", text, re.M))
            wanted = sum(1 for node in nodes for port in node["ports"] if "peer" in port)
            expect(ends == wanted, f"{ends} ends of cables of '{shape}', not {wanted}", text)
            links = fabric.run("host1", "iblinkinfo")
            expect(len(re.findall(r"Active/  LinkUp", links)) == wanted, f"iblinkinfo of '{shape}'", links)


def tools(build):
    """Debian's diagnostic tools, one by one."""
    with Fabric(build) as fabric:
        lids = {name: fabric.lid(name) for name in ("host1", "host2", "host4", "leaf1", "spine1")}
        for argv, wanted in (
                (("ibstat",), (r"CA 'soft0'", r"State: Active", rf"Base lid: {lids['host1']}\n", r"Link layer: InfiniBand")),
                (("ibstatus",), (r"state:\s+4: ACTIVE", r"rate:\s+100 Gb/sec \(4X EDR\)", r"link_layer:\s+InfiniBand")),
                (("ibv_devinfo",), (r"link_layer:\s+InfiniBand", rf"port_lid:\s+{lids['host1']}\n")),
                (("ibaddr",), (rf"LID start {lids['host1']:#x} end",)),
                (("sminfo",), (r"SMINFO_MASTER", rf"sm lid {lids['host1']} ")),
                (("smpquery", "nodeinfo", lids["leaf1"]), (r"NodeType:\.+Switch", r"NumPorts:\.+3\n")),
                (("smpquery", "nodedesc", lids["spine1"]), (r"spine1",)),
                (("smpquery", "portinfo", lids["host2"], 1), (r"LinkState:\.+Active", rf"\nLid:\.+{lids['host2']}\n")),
                (("smpquery", "pkeys", lids["host2"], 1), (r"0xffff|0x7fff",)),
                (("smpquery", "sl2vl", lids["host2"], 1), (r"ports:",)),
                (("smpquery", "vlarb", lids["host2"], 1), (r"VLArbitration tables",)),
                (("smpquery", "GUIDInfo", lids["host2"]), (r"0: 0x[0-9a-f]{16} ", r"8 guids capacity")),
                (("smpquery", "-D", "nodeinfo", "0,1"), (r"NodeType:\.+Switch",)),
                (("smpdump", lids["host2"], "0x11"), (r"^0101 ",)),
                (("ibroute", lids["leaf1"]), (r"'host4'", r"'spine1'")),
                (("ibportstate", lids["leaf1"], 3, "query"), (r"LinkState:\.+Active",)),
                (("ibqueryerrors",), (r"0 bad nodes found",)),
                (("perfquery", lids["host2"], 1), (r"PortXmitData:\.+\d+",)),
                (("perfquery", "-x", lids["host2"], 1), (r"PortXmitPkts:\.+[1-9]",)),
                (("perfquery", "-a", lids["leaf1"]), (r"PortSelect:\.+255",)),
                (("saquery", "-N"), (r'NodeDescription\.+host4',)),
                (("saquery", "--src-to-dst", f"{lids['host1']}:{lids['host4']}"), (rf"dlid\.+{lids['host4']}\n", r"rate\.+0x90\b|rate\.+16")),
                (("saquery", "-g"), (r"ff12:401b:ffff::ffff:ffff",)),
                (("saquery", "-s"), (r"IsSM ports",)),
                (("saquery", "-x"), (r"LinkRecord dump",)),
                (("ibtracert", lids["host1"], lids["host4"]), (r'"leaf1".*"spine1".*"leaf2".*"host4"',))):
            output = fabric.run("host1", *argv)
            for pattern in wanted:
                expect(re.search(pattern, output, re.S | re.M), f"{argv}: no {pattern}", output)


def ping(build):
    """ibping, both ends of it."""
    with Fabric(build) as fabric:
        server = fabric.start("host3", ["ibping", "-S"])
        try:
            end = time.monotonic() + PATIENCE
            while True:  # until the server is there
                try:
                    fabric.run("host1", "ibping", "-c", 1, fabric.lid("host3"))
                    break
                except Failure:
                    expect(time.monotonic() < end, "ibping has no answer")
            output = fabric.run("host1", "ibping", "-c", 3, fabric.lid("host3"))
            expect("3 packets transmitted, 3 received, 0% packet loss" in output, "ibping", output)
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def traffic(build):
    """Programs that address their peers by LID and by GID."""
    with Fabric(build) as fabric:
        for argv in (["ibv_rc_pingpong"], ["ibv_uc_pingpong"], ["ibv_ud_pingpong"], ["ibv_srq_pingpong"], ["ibv_xsrq_pingpong"],
                     ["ibv_rc_pingpong", "-g", "0"], ["ibv_ud_pingpong", "-g", "0"], ["ibv_rc_pingpong", "-c", "-s", "100000"],
                     ["ib_send_bw", "-a", "-F", "-n", "20"], ["ib_write_bw", "-F", "-n", "2000"],
                     ["ib_read_bw", "-F", "-n", "2000"], ["ib_send_lat", "-F", "-n", "500"], ["ib_atomic_bw", "-F", "-n", "500"],
                     ["ib_send_bw", "-c", "UD", "-F", "-n", "1000"], ["ib_write_lat", "-c", "UC", "-F", "-n", "500"]):
            fabric.pair(argv)
        counted = next(port for node in fabric.nodes() if node["name"] == "spine1" for port in node["ports"] if port["port"] == 1)
        expect(counted["counters"]["xmit_data"] > 1_000_000, "the packets went past the spine", str(counted))


def capture(build):
    """A capture shows InfiniBand, and nothing malformed."""
    if not shutil.which("tshark"):
        return
    with Fabric(build) as fabric:
        path = f"{fabric.folder}/%p.pcapng"
        fabric.pair(["ibv_rc_pingpong", "-n", "20"], SOFTRNIC_CAPTURE=path)
        files = sorted(pathlib.Path(fabric.folder).glob("*.pcapng"))
        expect(len(files) == 2, f"{len(files)} captures")
        for file in files:
            text = subprocess.run(["tshark", "-r", file, "-T", "fields", "-e", "_ws.col.Protocol", "-e", "infiniband.lrh.dlid",
                                   "-e", "_ws.malformed"], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
            rows = [line.split("\t") for line in text.splitlines()]
            expect(len(rows) >= 40, "packets of both directions", text)
            expect(all("InfiniBand" in row[0] and row[1] and not row[2] for row in rows), "InfiniBand, none malformed", text)


def trace(build):
    """softrnic fabric trace names the ports that ibtracert finds by datagrams."""
    with Fabric(build, "fat-tree:k=4") as fabric:
        for source, target in (("host1", "host16"), ("host5", "host6"), ("host9", "host1")):
            hops = json.loads(fabric.command("trace", source, target, "--json"))["hops"]
            found = fabric.run("host1", "ibtracert", fabric.lid(source), fabric.lid(target))
            wanted = re.findall(r"^\[(\d+)\] -> .*?\[(\d+)\] lid", found, re.M)
            expect([(str(hop["out_port"]), str(hop["peer"]["port"])) for hop in hops] == wanted, "another way", f"{hops}\n{found}")


def why(build):
    """softrnic fabric why finds what keeps two hosts apart, and its cure works."""
    with Fabric(build) as fabric:
        fabric.command("why", "host1", "host4")
        fabric.command("link", "leaf2", "3", "down")
        asked = subprocess.run(["softrnic", "fabric", "why", "host1", "host4", "--json"], env=fabric.env, capture_output=True,
                               text=True, timeout=PATIENCE, check=False)
        expect(asked.returncode == 1, "they cannot talk", asked.stdout + asked.stderr)
        found = json.loads(asked.stdout)["obstacles"]
        expect([each["id"] for each in found] == ["no_way", "cable_pulled"], "the cable that was pulled", asked.stdout)
        subprocess.run(found[1]["cure"].split(), env=fabric.env, check=True, timeout=PATIENCE)
        fabric.wait_until_up()
        expect("nothing stands in the way" in fabric.command("why", "host1", "host4"), "the cure works")


def load(build):
    """A link that is used shows its load, in text, JSON and picture; on slow links packets wait in virtual lanes."""
    with Fabric(build, "--scale", "0.002") as fabric:
        def look():
            spine = next(node for node in json.loads(fabric.command("show", "--vl", "--json"))["nodes"] if node["name"] == "spine1")
            busy = [port for port in spine["ports"] if port.get("load", {}).get("out", 0) > 0.3]
            expect(len(busy) == 1 and busy[0]["load"]["out"] < 1.05 and busy[0]["load"]["in"] < 0.2, "one direction is busy", str(spine))
            expect(len(busy[0]["vls"]) == 8 and busy[0]["vls"][0]["xmit_packets"] > 100, "its virtual lanes", str(busy))
            fabric.command("show", "--svg", f"{fabric.folder}/fabric.svg")

        fabric.pair(["ib_write_bw", "-F", "-D", "4"], meanwhile=lambda: retry(look))
        picture = pathlib.Path(f"{fabric.folder}/fabric.svg").read_text(encoding="utf-8")
        expect(all(name in picture for name in ("spine1", "host4", "% there")) and "<script" not in picture, "the picture")


def shell(build):
    """What a shell on a host starts is on that host."""
    with Fabric(build) as fabric:
        done = subprocess.run(["softrnic", "shell", "host3"], env=dict(fabric.env, SHELL="/bin/sh"), capture_output=True, text=True,
                              input="echo on $SOFTRNIC_HOST; ibstat; exit 7", timeout=PATIENCE, check=False)
        expect(done.returncode == 7 and "on host3\n" in done.stdout and f"Base lid: {fabric.lid('host3')}\n" in done.stdout,
               "the shell's own exit code, name and LID", done.stdout + done.stderr)


def opensm(build):
    """opensm manages the fabric: programs and tools on it, and osmtest, which validates its subnet administrator."""
    if not shutil.which("opensm", path=f"{os.environ['PATH']}:/usr/sbin"):
        return
    osmtest = shutil.which("osmtest", path=f"{os.environ['PATH']}:/usr/sbin")
    with Fabric(build, "--sm", "opensm") as fabric:
        hosts = {f"host{number}" for number in range(1, 5)}
        server = fabric.start("host4", ["rping", "-s", "-a", "10.0.0.4", "-C", "5"])
        try:
            retry(lambda: fabric.run("host1", "rping", "-c", "-a", "10.0.0.4", "-C", 5))
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
        expect("SMINFO_MASTER" in fabric.run("host2", "sminfo"), "opensm is master")
        found = set(re.findall(r"NodeDescription\.+(host\d)", fabric.run("host2", "saquery", "-N")))
        expect(found == hosts, f"saquery -N: {found}")
        path = fabric.run("host1", "saquery", "--src-to-dst", f"{fabric.lid('host1')}:{fabric.lid('host4')}")
        expect(re.search(rf"dlid\.+{fabric.lid('host4')}\n", path), "a path", path)
        own = {"OSM_TMP_DIR": fabric.folder, "OSM_CACHE_DIR": fabric.folder}
        for flow, verdict in (("c", "Create Inventory"), ("a", "All Validations")):
            output = fabric.run("host2", osmtest, "-f", flow, "-i", f"{fabric.folder}/inventory", **own)
            expect(f'OSMTEST: TEST "{verdict}" PASS' in output, f"osmtest -f {flow}", output[-3000:])


def engines(build):
    """Each routing engine of opensm routes a topology that fits it, and packets go between its farthest hosts."""
    if not shutil.which("opensm", path=f"{os.environ['PATH']}:/usr/sbin"):
        return
    for engine, shape in (("minhop", ""), ("updn", "fat-tree:k=4"), ("ftree", "fat-tree:k=4"), ("dor", "mesh:3x3"),
                          ("lash", "ring:5"), ("torus-2QoS", "torus:3x4"), ("torus-2QoS", "mesh:3x3")):
        with tempfile.TemporaryDirectory() as folder, \
                Fabric(build, *([shape] if shape else []), "--sm", "opensm", "--routing", engine,
                       "--config", write_file(folder, "opensm.conf", ["force_log_flush TRUE"])) as fabric:
            log = pathlib.Path(f"{fabric.folder}/softrnic/fabric/.opensm/log").read_text(encoding="utf-8")
            expect(f"{engine} tables configured on all switches" in log, f"{engine} on '{shape}'", log)
            hosts = names(fabric.nodes(), "channel adapter")
            fabric.pair(["ibv_rc_pingpong", "-n", "100"], server=f"host{len(hosts)}")
            if engine == "torus-2QoS" and shape.startswith("torus"):
                own = fabric.lid("host1")
                levels = {level for host in hosts for level in re.findall(r"sl\.+(0x\w+)", fabric.run(
                    "host1", "saquery", "--src-to-dst", f"{own}:{fabric.lid(host)}"))}
                expect(len(levels) > 1, "paths over both datelines have service levels of their own", str(levels))


CASES = (discovery, tools, ping, traffic, hops, reroute, capture, trace, why, load, shell, arbitration, incast, opensm, engines)


def main():
    options = case_options(__doc__)
    if not shutil.which("ibnetdiscover"):
        print("skipped: infiniband-diags is not installed")
        return 77
    enter_network()
    return run_cases(CASES, options.match, options.build.resolve())


if __name__ == "__main__":
    sys.exit(main())
