#!/usr/bin/env python3
"""An emulated InfiniBand fabric under Debian's own tools and programs: what they print is compared with the topology.

    fabric.py --build FOLDER [--match REGEX]

Runs as whoever starts it. Each case has a fabric of its own.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PATIENCE = 30  # seconds


class Failure(Exception):
    """What was expected, and what came instead."""


def expect(condition, what, output=""):
    if not condition:
        raise Failure(f"{what}\n{output}")


class Fabric:
    """One that is up, in a folder of its own; ends with its block."""

    def __init__(self, build, *arguments):
        self.folder = tempfile.mkdtemp(prefix="softrnic-fabric-")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder, PATH=f"{build}/bin:{os.environ['PATH']}")
        self.port = 18800
        self.command("up", *arguments)

    def __enter__(self):
        self.wait_until_up()
        return self

    def __exit__(self, *_):
        self.command("down")
        for _ in range(100):
            if not os.path.exists(f"{self.folder}/softrnic/fabric"):
                break
            time.sleep(0.02)
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, *words):
        done = subprocess.run(["softrnic", "fabric", *words], env=self.env, capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        expect(done.returncode == 0, f"softrnic fabric {' '.join(words)} ended with {done.returncode}", done.stderr)
        return done.stdout

    def nodes(self):
        return json.loads(self.command("show", "--json"))["nodes"]

    def wait_until_up(self):
        """Every port that has a cable is active, and every end port has a LID."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            nodes = self.nodes()
            ports = [port for node in nodes for port in node["ports"]]
            if all(port["state"] == "active" for port in ports if "peer" in port) and \
                    all(port["lid"] for port in ports if "lid" in port):
                return
            time.sleep(0.05)
        raise Failure("the subnet did not come up: " + self.command("show"))

    def lid(self, name, port=1):
        node = next(node for node in self.nodes() if node["name"] == name)
        wanted = port if node["type"] == "channel adapter" else 0
        return next(port["lid"] for port in node["ports"] if port["port"] == wanted)

    def start(self, host, argv, **env):
        return subprocess.Popen(["softrnic", "run", "--host", host, "--", *map(str, argv)], env=dict(self.env, **env),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, host, *argv, status=0, **env):
        program = self.start(host, argv, **env)
        try:
            output, _ = program.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            output, _ = program.communicate()
            raise Failure(f"{argv} on {host} did not end\n{output}") from None
        expect(program.returncode == status, f"{argv} on {host} ended with {program.returncode}", output)
        return output

    def pair(self, argv, server="host4", client="host1", meanwhile=None, **env):
        """The two sides of a program that finds its peer by TCP. What the client prints."""
        self.port += 1
        argv = [*argv, "-p", self.port]
        serving = self.start(server, argv, **env)
        try:
            self.wait_for_listener()
            calling = self.start(client, [*argv, "127.0.0.1"], **env)
            if meanwhile:
                meanwhile()
            output, _ = calling.communicate(timeout=PATIENCE)
            served, _ = serving.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{argv} did not end") from None
        finally:
            for side in (serving, calling) if "calling" in locals() else (serving,):
                if side.poll() is None:
                    os.killpg(side.pid, signal.SIGKILL)
                    side.wait()
        expect(calling.returncode == 0 and serving.returncode == 0, f"{argv} failed", output + served)
        return output

    def wait_for_listener(self):
        wanted = f":{self.port:04X} "
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for table in ("/proc/net/tcp", "/proc/net/tcp6"):
                for line in pathlib.Path(table).read_text(encoding="ascii").splitlines():
                    if wanted in line.split(" 0A ")[0] and " 0A " in line:
                        return
            time.sleep(0.02)
        raise Failure(f"nobody listens at port {self.port}")


def retry(attempt):
    """Until it succeeds: what it needs is there in a while."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return attempt()
        except Failure:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def names(nodes, kind):
    return {node["name"] for node in nodes if node["type"] == kind}


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
            while True:
                try:
                    output = fabric.run("host1", "ibping", "-c", 3, fabric.lid("host3"))
                    break
                except Failure:
                    expect(time.monotonic() < end, "ibping has no answer")
            expect("3 packets transmitted, 3 received, 0% packet loss" in output, "ibping", output)
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def traffic(build):
    """Programs that address their peers by LID and by GID."""
    with Fabric(build) as fabric:
        for argv in (["ibv_rc_pingpong"], ["ibv_uc_pingpong"], ["ibv_ud_pingpong"], ["ibv_srq_pingpong"], ["ibv_xsrq_pingpong"],
                     ["ibv_rc_pingpong", "-g", "0"], ["ibv_ud_pingpong", "-g", "0"], ["ibv_rc_pingpong", "-c", "-s", "100000"],
                     ["ib_send_bw", "-a", "-F", "-n", "200"], ["ib_write_bw", "-F", "-n", "2000"],
                     ["ib_read_bw", "-F", "-n", "2000"], ["ib_send_lat", "-F", "-n", "500"], ["ib_atomic_bw", "-F", "-n", "500"],
                     ["ib_send_bw", "-c", "UD", "-F", "-n", "1000"], ["ib_write_lat", "-c", "UC", "-F", "-n", "500"]):
            fabric.pair(argv)
        counted = next(port for node in fabric.nodes() if node["name"] == "spine1" for port in node["ports"] if port["port"] == 1)
        expect(counted["counters"]["xmit_data"] > 1_000_000, "the packets went past the spine", str(counted))


def reroute(build):
    """A cable on the path is pulled while RC writes: the manager routes around it, and nothing is lost."""
    with Fabric(build, "fat-tree:leaves=2,spines=2,hosts=2") as fabric:
        trace = ("ibtracert", fabric.lid("host1"), fabric.lid("host4"))
        used = re.search(r'"(spine\d)"', fabric.run("host1", *trace)).group(1)
        leaf = next(node for node in fabric.nodes() if node["name"] == "leaf1")
        port = next(port["port"] for port in leaf["ports"] if port.get("peer", {}).get("node") == used)

        def pull():
            time.sleep(1)
            fabric.command("link", "leaf1", str(port), "down")

        fabric.pair(["ib_write_bw", "-F", "-D", "3"], meanwhile=pull)
        expect(used not in fabric.run("host1", *trace), "the way goes around the cable that was pulled")
        fabric.command("link", "leaf1", str(port), "up")
        fabric.wait_until_up()


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


def write_file(fabric_folder, name, lines):
    path = pathlib.Path(fabric_folder) / name
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return str(path)


def counters(fabric, node, port):
    """Of a port, as they are now."""
    found = next(row for row in fabric.nodes() if row["name"] == node)
    return next(row["counters"] for row in found["ports"] if row["port"] == port)


@contextlib.contextmanager
def writers(fabric, flows, seconds, *options):
    """ib_write_bw of many clients at once, (client, server, more options) each, while the block runs. Each reports every
    message and waits long for its acknowledgement, as links are slow."""
    running = []
    try:
        for client, server, more in flows:
            fabric.port += 1
            argv = ["ib_write_bw", "-F", "-D", seconds, "-Q", "1", "-u", "20", *options, *more, "-p", fabric.port]
            running.append(fabric.start(server, argv))
            fabric.wait_for_listener()
            running.append((client, argv))
        running = [fabric.start(row[0], [*row[1], "127.0.0.1"]) if isinstance(row, tuple) else row for row in running]
        yield
        for program in running:
            output, _ = program.communicate(timeout=PATIENCE)
            expect(program.returncode == 0, "ib_write_bw failed", output)
    finally:
        for program in running:
            if not isinstance(program, tuple) and program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()


def shares(fabric, scale):
    """For a second: how much of the link from leaf1 to spine1 is in use, and the rate of host1 over that of host2."""
    began, before = time.monotonic(), [counters(fabric, "leaf1", port)["rcv_data"] for port in (1, 2)]
    time.sleep(1)
    after = [counters(fabric, "leaf1", port)["rcv_data"] for port in (1, 2)]
    rates = [32 * (late - early) / (time.monotonic() - began) for early, late in zip(before, after)]
    return sum(rates) / (100e9 * scale), rates[0] / max(rates[1], 1)


def arbitration(build):
    """Two flows on SL 0 and 1 share a link 3:1 by its arbitration tables; the others wait, and nothing is lost."""
    with tempfile.TemporaryDirectory() as folder:
        config = write_file(folder, "qos.conf", ["qos TRUE", "qos_max_vls 2", "qos_sl2vl 0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
                                                 "qos_high_limit 255", "qos_vlarb_high 0:192,1:64", "qos_vlarb_low 0:1,1:1"])
        with Fabric(build, "--config", config, "--scale", "0.0002") as fabric:
            flows = [("host1", "host3", ("-S", "0")), ("host2", "host4", ("-S", "1"))]
            with writers(fabric, flows, 14, "-m", "1024", "-s", "4096", "-t", "32"):
                time.sleep(2)
                seconds = [shares(fabric, 0.0002) for _ in range(10)]
            # What a sender that was not on the processor leaves, the other one takes: the busiest seconds count.
            busiest = sorted(seconds)[-5:]
            ratio = statistics.median(row[1] for row in busiest)
            print("        SL 0 to SL 1 (part of the link in use): " + ", ".join(f"{row[1]:.2f} ({row[0]:.2f})" for row in busiest))
            expect(2.7 <= ratio <= 3.3, f"SL 0 has {ratio:.2f} times the rate of SL 1, not 3")
            expect(counters(fabric, "host2", 1)["xmit_wait_ns"] > 10**9, "host2 waits for credits")
            expect(counters(fabric, "leaf1", 3)["xmit_discards"] == 0, "no discards")


def incast(build):
    """Eight hosts write to one: all arrives without a packet thrown away anywhere."""
    with Fabric(build, "star:9", "--scale", "0.01") as fabric:
        flows = [(f"host{number}", "host9", ()) for number in range(1, 9)]
        with writers(fabric, flows, 3, "-s", "16384", "-t", "16"):
            pass
        ports = [port["counters"] for node in fabric.nodes() for port in node["ports"] if "counters" in port]
        lost = sum(port["xmit_discards"] + port["rcv_errors"] for port in ports)
        waited = sum(counters(fabric, f"host{number}", 1)["xmit_wait_ns"] for number in range(1, 9)) / 1e9
        print(f"        {lost} discards; the eight waited for {waited:.1f} s in all")
        expect(lost == 0, f"{lost} packets were lost in incast")
        expect(waited > 1, "who sends waits for credits")


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


CASES = (discovery, tools, ping, traffic, reroute, capture, arbitration, incast, opensm)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    if not shutil.which("ibnetdiscover"):
        print("skipped: infiniband-diags is not installed")
        return 77
    failed = 0
    for case in CASES:
        if not re.search(options.match, case.__name__):
            continue
        began = time.monotonic()
        try:
            case(options.build.resolve())
            print(f"ok      {case.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED  {case.__name__}: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
