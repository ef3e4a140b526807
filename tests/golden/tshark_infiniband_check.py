#!/usr/bin/env python3
"""Lets wireshark judge our packets of an InfiniBand link: usage tshark_infiniband_check.py WRITER.

WRITER (write_infiniband) writes a capture to the file it is given and prints a line for each packet: its name, then
what fields have to be, separated by tabs. Exit status 77 (skipped) only when there is no tshark.
"""
import sys

from tshark_check import EXPECTED, UNKNOWN_TO_TSHARK, plain, write_and_dissect

OWN = ["_ws.malformed", "_ws.col.Info"]
CRCS = ["infiniband.invariant.crc", "infiniband.variant.crc"]  # not looked for behind a BTH of unknown opcode


def expectations_of(line):
    name, *pairs = line.split("\t")
    return name, dict(pair.split("=", 1) for pair in pairs)


def fields_of(lines):
    fields = {field for line in lines for field in expectations_of(line)[1]}
    return sorted(fields | set(EXPECTED) | set(OWN))


def faults_of(row, name, expected):
    """What tshark says of one packet that differs from what was written."""
    unknown = int(expected.get("infiniband.bth.opcode", -1)) in UNKNOWN_TO_TSHARK
    found = []
    for field, value in expected.items():
        seen = plain(row[field])
        if seen != value and not (unknown and field in CRCS and seen == ""):
            found.append(f"{name}: {field} is '{seen}', not '{value}'")
    if row["_ws.malformed"]:
        found.append(f"{name}: malformed")
    of_every_opcode = "infiniband.bth.opcode" in expected and "infiniband.mad.method" not in expected
    if unknown or not of_every_opcode:
        return found
    if not row["_ws.col.Info"].startswith(name):
        found.append(f"{name}: said to be '{row['_ws.col.Info']}'")
    return found + [f"{name}: {field} is '{row[field]}'" for field, value in EXPECTED.items()
                    if plain(row[field]) not in ("", value)]


def main():
    lines, rows = write_and_dissect(sys.argv[1], fields_of)
    faults = [] if len(rows) == len(lines) else [f"{len(lines)} packets written, {len(rows)} dissected"]
    for row, line in zip(rows, lines):
        faults += faults_of(row, *expectations_of(line))
    faults += [f"no packet shows {field}" for field in EXPECTED if not any(row[field] for row in rows)]
    print("\n".join(faults) or f"{len(rows)} packets dissected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
