#!/usr/bin/env python3
"""Loads Debian's RDMA programs and modules on our library, all symbols bound at once: usage loads.py FOLDER LIST.

FOLDER holds our libibverbs.so.1 and goes first on the library path. Programs are bound by the dynamic linker without
being run (ldd -r); modules are also opened with RTLD_NOW by a Python of its own, which then looks into its memory map
that the library is ours.
"""
import glob
import os
import subprocess
import sys

OPEN_MODULE = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW)
maps = {line.split()[-1] for line in open("/proc/self/maps") if "libibverbs.so" in line}
sys.exit(0 if maps == {os.path.realpath(sys.argv[2])} else f"libibverbs is {maps}")
"""


NO_USER = "does not link libibverbs"


def files_of(listing):
    with open(listing, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                package, pattern = line.split()
                yield package, pattern, sorted(glob.glob(pattern))


def trouble_binding(path, environment, ours):
    """What the dynamic linker says of binding every symbol of `path`; None when all is well, NO_USER when `path` does
    not link libibverbs at all."""
    ran = subprocess.run(["ldd", "-r", path], env=environment, capture_output=True, text=True, check=False)
    text = ran.stdout + ran.stderr
    if ours not in text:
        return NO_USER if "libibverbs.so.1" not in text else f"does not find our library:\n{text}"
    bad = [line for line in text.splitlines()
           if ("undefined symbol" in line or "not found" in line or "not defined" in line)
           and ("ibv" in line or "verbs" in line.lower())]
    return "\n".join(bad) or None


def trouble_opening(path, environment, ours):
    ran = subprocess.run([sys.executable, "-c", OPEN_MODULE, path, ours], env=environment, capture_output=True,
                         text=True, check=False)
    return None if ran.returncode == 0 else ran.stderr.strip()


def main():
    folder, listing = os.path.realpath(sys.argv[1]), sys.argv[2]
    ours = os.path.join(folder, "libibverbs.so.1")
    environment = dict(os.environ, LD_LIBRARY_PATH=folder, LD_BIND_NOW="1", PYTHONDONTWRITEBYTECODE="1")
    tried, faults = 0, []
    for package, pattern, paths in files_of(listing):
        if not paths:
            faults.append(f"{pattern}: nothing there; install {package}")
        for path in paths:
            trouble = trouble_binding(path, environment, ours)
            if trouble == NO_USER:
                continue
            tried += 1
            if trouble is None and ".so" in path:
                trouble = trouble_opening(path, environment, ours)
            if trouble:
                faults.append(f"{path}: {trouble}")
    for fault in faults:
        print(fault)
    print(f"{tried} files tried, {len(faults)} faults")
    return 1 if faults or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
