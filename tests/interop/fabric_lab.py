"""An emulated InfiniBand fabric for tests, and programs on its hosts."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import lab as lab_module

PATIENCE = 90  # seconds


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

    def counters(self, name, port):
        """Of a port, as they are now."""
        node = next(node for node in self.nodes() if node["name"] == name)
        return next(row["counters"] for row in node["ports"] if row["port"] == port)

    def wait_for_traffic(self, name, port):
        """Until the port has sent some messages."""
        before, end = self.counters(name, port)["xmit_packets"], time.monotonic() + PATIENCE
        while self.counters(name, port)["xmit_packets"] < before + 100:
            expect(time.monotonic() < end, f"packets leave {name} by port {port}")
            time.sleep(0.05)

    def address(self, name):
        """Of the emulated IPoIB interface of its first port."""
        node = next(node for node in self.nodes() if node["name"] == name)
        return next(port["address"] for port in node["ports"] if "address" in port)

    def start(self, host, argv, **env):
        program = subprocess.Popen(["softrnic", "run", "--host", host, "--", *map(str, argv)], env=dict(self.env, **env),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        lab_module.make_as_nice(program.pid)
        return program

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


def write_file(fabric_folder, name, lines):
    path = pathlib.Path(fabric_folder) / name
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return str(path)


def case_options(description):
    """The command line of a script of cases."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--match", default="")
    return parser.parse_args()


def enter_network():
    """Runs the script again in a network of its own, where that can be had: scripts side by side may then take the same ports."""
    if lab_module.enter() != "plain":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def run_cases(cases, match, *arguments):
    """Those whose name has the pattern, each with the arguments. The exit status."""
    failed = 0
    for case in cases:
        if not re.search(match, case.__name__):
            continue
        began = time.monotonic()
        try:
            case(*arguments)
            print(f"ok      {case.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED  {case.__name__}: {failure}", flush=True)
    return 1 if failed else 0
