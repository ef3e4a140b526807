#!/usr/bin/env python3
"""A peer of an unmodified ibv_rc_pingpong that sends trains of packets which no requester makes.

    train.py --build FOLDER
    train.py --stranger ADDRESS SIZE PAD      the peer alone

The stranger connects as the client does, by TCP, and then sends one datagram of several packets (UDP_SEGMENT)
with the right ICRC. The server has to refuse it, in words, and may not crash. Exit status 77: no namespaces.
"""
import argparse
import ipaddress
import pathlib
import re
import signal
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(HERE)]
import lab as lab_module  # noqa: E402
import roce  # noqa: E402

SKIPPED = 77
PATIENCE = 60  # seconds
PORT = 18515
PSN = 0x123456
QPN = 0xfedcba  # the stranger's; nobody has it
MTU = 1024  # what ibv_rc_pingpong takes
# Its message is 4096 bytes: four packets. Those of a train have one size, as the kernel wants: (payload, pad).
TRAINS = {"padded to the path MTU": (MTU - 1, 1), "short": (MTU - 4, 0), "long": (MTU + 4, 0),
          "almost long": (MTU + 1, 3)}


def meet(server):
    """What the client and the server of ibv_rc_pingpong tell each other. The server's QPN."""
    with socket.create_connection((server, PORT), PATIENCE) as line:
        gid = ipaddress.ip_address("::ffff:" + server).packed.hex()
        line.sendall(f"0000:{QPN:06x}:{PSN:06x}:{gid}".encode() + b"\0")
        answer = b""
        while len(answer) < len("0000:000000:000000:") + len(gid) + 1:
            piece = line.recv(100)
            if not piece:
                raise ConnectionError("the server hung up")
            answer += piece
        line.sendall(b"done\0")
        return int(answer.split(b":")[1], 16)


def be_the_stranger(address, size, pad):
    qpn = meet(address)
    opcodes = [roce.SEND_FIRST, roce.SEND_MIDDLE, roce.SEND_MIDDLE, roce.SEND_LAST]
    train = [roce.packet(opcode, qpn, PSN + i, bytes([i + 1]) * size, pad, i == 3)
             for i, opcode in enumerate(opcodes)]
    roce.Stranger(address).send_train(address, train)


def attack(host, size, pad):
    """None, or what went wrong."""
    server = host.start(["ibv_rc_pingpong", "-g", str(host.gid_index(4)), "-p", str(PORT)],
                        {"SOFTRNIC_EXPLAIN": "1"})
    try:
        if not server.wait_for_listener(PORT):
            return f"the server does not listen\n{server.output()}"
        stranger = [*host.enter(), sys.executable, __file__, "--stranger", host.address[4], str(size),
                    str(pad)]
        subprocess.run(stranger, check=True, timeout=PATIENCE)
        status = server.wait(PATIENCE)
        said = server.output()
        if status is None:
            return f"the server waits on\n{said}"
        if status < 0:
            return f"the server died by {signal.Signals(-status).name}\n{said}"
        refused = re.search(rf"carries {size} bytes, which does not fit this QP's path MTU of {MTU}", said)
        if status != 1 or not refused:
            return f"the server ended with {status}, and not for the length\n{said}"
        return None
    finally:
        server.end()


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--stranger", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stranger:
        address, size, pad = options.stranger
        be_the_stranger(address, int(size), int(pad))
        return 0
    mode = lab_module.enter()
    if mode == "plain":
        return SKIPPED
    failures = 0
    with lab_module.Lab(mode, options.build) as lab:
        for name, (size, pad) in TRAINS.items():
            failure = attack(lab.lone, size, pad)
            failures += failure is not None
            print(f"{name}, {size} bytes and {pad} of pad: {failure or 'refused'}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
