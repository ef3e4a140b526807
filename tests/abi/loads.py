#!/usr/bin/env python3
"""Loads Debian's RDMA programs and modules on our libraries, all symbols bound at once:
usage loads.py [--as-far-as-there] FOLDER LIST.

FOLDER holds our libraries and goes first on the library path. Programs are bound by the dynamic linker without being
run (ldd -r); modules are also opened with RTLD_NOW by a Python of its own, which then looks into its memory map that
the libraries are ours. A pattern of LIST that finds nothing is a fault, unless it is said that only what is there counts:
another release has other files.
"""
import glob
import os
import re
import subprocess
import sys

OURS = ("libibverbs.so.1", "librdmacm.so.1", "libibumad.so.3")

OPEN_MODULE = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
module, folder = os.path.realpath(sys.argv[1]), sys.argv[2]
ours = ("/libibverbs.so", "/librdmacm.so", "/libibumad.so")
maps = {line.split()[-1] for line in open("/proc/self/maps") if any(name in line for name in ours)}
foreign = {path for path in maps if os.path.dirname(path) != folder} - {module}
sys.exit(f"foreign libraries: {foreign}" if foreign or not maps - {module} else 0)
"""


NO_USER = "links none of our libraries"


def files_of(listing):
    with open(listing, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                package, pattern = line.split()
                yield package, pattern, sorted(glob.glob(pattern))


def trouble_binding(path, environment, folder):
    """What the dynamic linker says of binding every symbol of `path`; None when all is well, NO_USER when `path` links
    none of our libraries."""
    ran = subprocess.run(["ldd", "-r", path], env=environment, capture_output=True, text=True, check=False)
    text = ran.stdout + ran.stderr
    found = dict(re.findall(r"^\s*(\S+) => (\S+)", text, re.M))
    used = [name for name in OURS if name in found]
    if not used:
        return NO_USER
    if any(os.path.dirname(found[name]) != folder for name in used):
        return f"does not find our libraries:\n{text}"
    bad = [line for line in text.splitlines()
           if ("undefined symbol" in line or "not found" in line or "not defined" in line)
           and re.search("ibv|verbs|rdma|rsocket|umad", line, re.I)]
    return "\n".join(bad) or None


def trouble_opening(path, environment, folder):
    ran = subprocess.run([sys.executable, "-c", OPEN_MODULE, path, folder], env=environment, capture_output=True,
                         text=True, check=False)
    return None if ran.returncode == 0 else ran.stderr.strip()


def main():
    arguments = sys.argv[1:]
    lenient = arguments[0] == "--as-far-as-there"
    folder, listing = os.path.realpath(arguments[-2]), arguments[-1]
    environment = dict(os.environ, LD_LIBRARY_PATH=folder, LD_BIND_NOW="1", PYTHONDONTWRITEBYTECODE="1")
    tried, faults = 0, []
    for package, pattern, paths in files_of(listing):
        if not paths and not lenient:
            faults.append(f"{pattern}: nothing there; install {package}")
        for path in paths:
            trouble = trouble_binding(path, environment, folder)
            if trouble == NO_USER:
                continue
            tried += 1
            if trouble is None and ".so" in path:
                trouble = trouble_opening(path, environment, folder)
            if trouble:
                faults.append(f"{path}: {trouble}")
    for fault in faults:
        print(fault)
    print(f"{tried} files tried, {len(faults)} faults")
    return 1 if faults or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
