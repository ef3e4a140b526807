#!/usr/bin/env python3
"""Checks what programs and libraries of the product need of the host they run on: usage host_needs.py FILE…

Nothing but glibc 2.34, which is what distributions of 2022 have, and our own libraries: then one build runs on all of
them. A build on a host with a newer glibc than Debian 12's asks for what its headers name, and is for such hosts.
"""
import platform
import re
import subprocess
import sys

NEWEST = (2, 34)
DEBIAN_12 = (2, 36)
LIBRARIES = re.compile(r"^(libc\.so\.6|libm\.so\.6|ld-linux-.*|libibverbs\.so\.1|librdmacm\.so\.1)$")


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


def faults_of(path):
    for need in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path)):
        if not LIBRARIES.match(need):
            yield f"needs {need}"
    for line in readelf("--dyn-syms", path).splitlines():
        match = re.search(r" UND (\w+)@GLIBC_([\d.]+)", line)
        if match and tuple(map(int, match[2].split("."))) > NEWEST:
            yield f"needs {match[1]} of glibc {match[2]}"
        if re.search(r" UND \w+@(GLIBCXX|CXXABI|GCC)_", line):
            yield f"needs the C++ runtime: {line.split()[-2]}"


def main():
    host = tuple(map(int, platform.libc_ver()[1].split(".")))
    if host > DEBIAN_12:
        print(f"skipped: built with glibc {'.'.join(map(str, host))}, for hosts that have it")
        return 77
    faults = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults_of(path)]
    print("\n".join(faults) or f"{len(sys.argv) - 1} files need glibc 2.34 and nothing else")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
