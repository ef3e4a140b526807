#!/usr/bin/env python3
"""Clients of `softrnic serve` while somebody floods it with forged connection requests.

    flood.py --build FOLDER [--rate N] [--clients N] [--from nobody|everybody]

The flood (flood.cc) comes from the client's side of a veth pair, with well-formed REQs of the senders' subnet: all
addresses that nobody has, or with --from everybody the client's own as well. Clients copy a small file, one after the
other. Most of them have to get in before they give up by themselves, after 10 s; how long it took is printed and decides
nothing. Exit status 77: no namespaces.
"""
import argparse
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "tests/copy")]
import scene as scene_module  # noqa: E402
from scene import lab_module  # noqa: E402

SKIPPED = 77
PATIENCE = 60  # seconds for a client


class Flood:
    """A context manager: the attack goes on inside."""

    def __init__(self, scene, rate, spare_client=True):
        server, client = scene.server_host, scene.client_host
        first = server.address[4].rsplit(".", 1)[0] + ".1"
        spared = [client.address[4]] if spare_client else []
        self._command = [*client.enter(), scene.lab.build / "tests/interop/flood", server.address[4], scene.port, rate, 0, first,
                         254, *spared]
        self._process = None
        self.told = ""

    def __enter__(self):
        self._process = subprocess.Popen([str(word) for word in self._command], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, text=True)
        if not self._process.stdout.readline():  # after a second's portion
            raise scene_module.Failed("the flood does not flow")
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGKILL)
        lines = self._process.communicate()[0].splitlines()
        self.told = lines[-1] if lines else ""


def copies(scene, number):
    """For each client, the seconds that its copy took; None when it did not come about."""
    source = scene.home / "small"
    source.write_bytes(b"a small file\n" * 50)
    scene.give(source)
    took = []
    for i in range(number):
        begin = time.monotonic()
        status, output = scene.client("cp", "-q", "--port", scene.port, source, f"{scene.server_host.address[4]}:copy{i}",
                                      timeout=PATIENCE)
        seconds = time.monotonic() - begin
        arrived = status == 0 and (scene.root / f"copy{i}").read_bytes() == source.read_bytes()
        took.append(seconds if arrived else None)
        if not arrived:
            print(f"client {i} ended with {status} after {seconds:.1f} s: {output.strip()}", flush=True)
    return took


def words_for(took):
    arrived = sorted(seconds for seconds in took if seconds is not None)
    if not arrived:
        return f"none of {len(took)} got in"
    soon = sum(seconds <= 1 for seconds in arrived)
    return (f"{len(arrived)} of {len(took)} got in, {soon} within 1 s; median {arrived[len(arrived) // 2]:.2f} s, "
            f"slowest {arrived[-1]:.2f} s")


def measure(lab, rate, clients, spare_client=True):
    """(without a flood, with one): what copies() tells."""
    with scene_module.Scene(lab, *lab.pair) as scene:
        scene.serve("-q", scene.root)
        calm = copies(scene, clients)
        with Flood(scene, rate, spare_client) as flood:
            stormy = copies(scene, clients)
        print(f"the flood: {flood.told}", flush=True)
    return calm, stormy


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--rate", type=int, default=10000, help="requests a second")
    parser.add_argument("--clients", type=int, default=5)
    parser.add_argument("--from", dest="senders", choices=["nobody", "everybody"], default="nobody")
    options = parser.parse_args()
    mode = lab_module.enter()
    if mode == "plain":
        return SKIPPED
    with lab_module.Lab(mode, options.build) as lab:
        calm, stormy = measure(lab, options.rate, options.clients, options.senders == "nobody")
    print(f"without a flood: {words_for(calm)}")
    print(f"with {options.rate} forged requests a second: {words_for(stormy)}")
    arrived = sum(took is not None for took in stormy)
    return 0 if None not in calm and 2 * arrived > len(stormy) else 1


if __name__ == "__main__":
    sys.exit(main())
