#!/usr/bin/env python3
"""Turns a golden list of structure layouts into a C++ table: usage layout.py GOLDEN OUTPUT.

GOLDEN: lines "struct NAME  size=BYTES", each followed by lines "OFFSET SIZE FIELD". OUTPUT: one row a line, for
layout_test.cc to include.
"""
import sys


def main():
    rows, current = [], None
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words[0] == "struct":
                current = words[1]
                size = words[2].removeprefix("size=")
                rows.append(f"STRUCTURE({current}, {size})")
            else:
                rows.append(f"FIELD({current}, {words[2]}, {words[0]}, {words[1]})")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
