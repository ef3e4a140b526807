#!/usr/bin/env python3
"""Lets wireshark judge our packets and our pcapng: usage tshark_check.py WRITER.

WRITER (write_all_opcodes) writes one packet of every opcode to the file it is given and prints "opcode name" lines.
Exit status 77 (skipped) only when there is no tshark.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# Not known to wireshark 4.0: FLUSH, ATOMIC WRITE, CNP, and all of XRC, of which it reads no more than the BTH.
UNKNOWN_TO_TSHARK = {0x1C, 0x1D, 0x81, *range(0xA0, 0xC0)}
# What synthetic.h puts into the headers, as tshark prints it wherever an opcode has the field.
BOOLEANS = {"True": "1", "False": "0"}  # as tshark 4.2 and later writes them
EXPECTED = {
    "infiniband.bth.destqp": "0x012345",
    "infiniband.bth.psn": "11259375",
    "infiniband.bth.p_key": "65535",
    "infiniband.bth.se": "1",
    "infiniband.bth.m": "1",
    "infiniband.deth.q_key": "0x0000000011111111",
    "infiniband.deth.srcqp": "0x00000777",
    "infiniband.reth.va": "0x00007f0011223348",
    "infiniband.reth.r_key": "0x00001234",
    "infiniband.reth.dmalen": "8192",
    "infiniband.atomiceth.swapdt": "1234605616436508552",
    "infiniband.atomiceth.cmpdt": "11072869122414935808",
    "infiniband.aeth.msn": "51966",
    "infiniband.atomicacketh.origremdt": "72623859790382856",
    "infiniband.immdt": "deadbeef",
    "infiniband.ieth": "00005678",
}
OWN = ["infiniband.bth.opcode", "_ws.col.Protocol", "_ws.col.Info", "_ws.malformed", "frame.comment",
       "frame.interface_name", "ip.checksum.status"]


def dissect(tshark, capture, fields):
    command = [tshark, "-r", capture, "-o", "ip.check_checksum:TRUE",
               "--disable-protocol", "rpcordma",  # takes any SEND for its own
               "-T", "fields", "-E", "separator=|"]
    for field in fields:
        command += ["-e", field]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [dict(zip(fields, line.split("|"))) for line in text.splitlines()]


def plain(value):
    """The first, as some stand twice in the tree; a boolean as a number."""
    first = value.split(",")[0]
    return BOOLEANS.get(first, first)


def faults_of(row, opcode, name):
    """What tshark says of one packet that differs from what was written."""
    found = []

    def demand(field, holds):
        if not holds(row[field]):
            found.append(f"{name}: {field} is '{row[field]}'")

    demand("infiniband.bth.opcode", lambda v: v == str(opcode))
    demand("_ws.malformed", lambda v: v == "")
    demand("_ws.col.Protocol", lambda v: v == "RRoCE")
    demand("frame.comment", lambda v: v.startswith(name))
    demand("frame.interface_name", lambda v: v == "soft0")
    demand("ip.checksum.status", lambda v: v in ("", "1"))  # absent (IPv6) or good
    if opcode in UNKNOWN_TO_TSHARK:
        return found
    demand("_ws.col.Info", lambda v: v.startswith(name))
    for field, value in EXPECTED.items():
        demand(field, lambda v, value=value: plain(v) in ("", value))
    return found


def write_and_dissect(writer, fields_of):
    """Has the capture written; the writer's lines, and what tshark says of each packet in the fields that
    fields_of(lines) names. Ends the program where there is no tshark."""
    tshark = shutil.which("tshark")
    if tshark is None:
        print("no tshark")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        capture = str(pathlib.Path(folder) / "all.pcapng")
        lines = subprocess.run([writer, capture], check=True, capture_output=True, text=True).stdout.splitlines()
        return lines, dissect(tshark, capture, fields_of(lines))


def main():
    lines, rows = write_and_dissect(sys.argv[1], lambda _: OWN + list(EXPECTED))
    written = [line.split(" ", 1) for line in lines]
    faults = [] if len(rows) == len(written) else [f"{len(written)} packets written, {len(rows)} dissected"]
    for row, (opcode, name) in zip(rows, written):
        faults += faults_of(row, int(opcode), name)
    # An opcode without the header leaves a field empty; one that no packet fills would go unchecked.
    faults += [f"no packet shows {field}" for field in EXPECTED if not any(row[field] for row in rows)]
    print("\n".join(faults) or f"{len(rows)} packets dissected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
