#!/usr/bin/env python3
"""Which way payloads go: between hosts over the network, although both share a machine; within a host through memory, unless that
was forbidden, and also where the kernel lets no process at the memory of another.

    paths.py --build FOLDER [--on loopback,wire,pair]

The judge is the kernel: how many bytes have passed the network device. `verify` compares every byte. Exit status 77: no network
namespaces.
"""
import argparse
import collections
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import lab as lab_module  # noqa: E402

SKIPPED = 77
PATIENCE = 60  # seconds
PORT = 18515

# A program, and the bytes of payload that it moves at least.
Load = collections.namedtuple("Load", "argv bytes")
LOADS = [Load(argv.split(), count) for argv, count in (
    ("ib_write_bw -s 65536 -n 500", 500 * 65536),
    ("ib_read_bw -s 65536 -n 500", 500 * 65536),
    ("ib_send_bw -s 65536 -n 500", 500 * 65536),
    ("ib_send_bw -s 64 -n 10000", 10000 * 64),
    ("ib_write_bw -c UC -s 4096 -n 500", 500 * 4096),
    ("ib_send_bw -c UD -s 1024 -n 2000", 2000 * 1024),
    ("ib_atomic_bw -n 10000", 10000 * 8),
    ("{build}/tests/interop/verify --gid-index {gid} --port 18515", 16 << 20),
    ("softrnic run --iwarp --no-sysfs -- ib_write_bw -R -s 65536 -n 500", 500 * 65536),
    ("softrnic run --iwarp --no-sysfs -- ib_send_bw -R -s 64 -n 10000", 10000 * 64),
)]
# Who may not use cross-memory attach, on the host that both ends share.
NOBODY_RESTRICTED = frozenset()
RESTRICTIONS = [NOBODY_RESTRICTED, frozenset({"server"}), frozenset({"client"}), frozenset({"server", "client"})]


def argv_of(load, role, restricted, host):
    argv = [word.replace("{build}", str(host.lab.build)).replace("{gid}", str(host.gid_index(4))) for word in load.argv]
    if "verify" not in load.argv[0]:
        argv += ["-p", str(PORT)]
    return [str(host.lab.build / "tests/interop/undergo"), "without-attach", *argv] if role in restricted else argv


def passed(host):
    """Bytes that the network device of a host has seen."""
    return sum(host.traffic("lo" if host.name == "lone" else "eth0"))


def run(load, restricted, server_host, client_host):
    """What went wrong, or None; and how many bytes passed."""
    before = passed(server_host)
    server = server_host.start(argv_of(load, "server", restricted, server_host))
    client = None
    try:
        deadline = time.monotonic() + PATIENCE
        while not server_host.listens(server.process.pid, PORT):
            if not server.running or time.monotonic() > deadline:
                return f"the server does not listen\n{server.output()}", 0
        client = client_host.start([*argv_of(load, "client", restricted, client_host), server_host.address[4]])
        statuses = client.wait(PATIENCE), server.wait(PATIENCE)
        if statuses != (0, 0):
            return f"client and server ended with {statuses}\n{client.output()}\n{server.output()}", 0
        return None, passed(server_host) - before
    finally:
        for program in (client, server):
            if program:
                program.end()


def judge(place, load, count):
    """What is wrong with so many bytes on the network."""
    if place == "loopback":
        return None if count < load.bytes / 4 else "payload went by packets"
    return None if count >= load.bytes else "payload did not pass the network"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--on", default="loopback,wire,pair")
    options = parser.parse_args()
    mode = lab_module.enter()
    if mode == "plain":
        return SKIPPED
    failures = 0
    with lab_module.Lab(mode, options.build) as lab:
        for place, server, client in lab.places(options.on.split(",")):
            for restricted in RESTRICTIONS if place == "loopback" else [NOBODY_RESTRICTED]:
                for load in LOADS:
                    failure, count = run(load, restricted, server, client)
                    failure = failure or judge(place, load, count)
                    failures += failure is not None
                    without = f"{' and '.join(sorted(restricted))} without attach: " if restricted else ""
                    print(f"{place} {without}{' '.join(load.argv)}: {load.bytes} bytes of payload, {count} on the network: "
                          f"{failure or 'ok'}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
