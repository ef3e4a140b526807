#!/usr/bin/env python3
"""Compares the dynamic symbols of a library with a golden list: usage exports.py LIBRARY GOLDEN SONAME.

Name, version, default or hidden, and kind (function, data, version node) must all agree. The library may need nothing
but the C library and our other libraries, which it must find beside itself, must stay loaded after dlclose, and
must not be marked for immediate binding.
"""
import re
import subprocess
import sys

ALLOWED_NEEDS = re.compile(r"^(libc\.so\.6|ld-linux-.*|libm\.so\.6|lib[atu]+san\.so.*|libclang_rt\.[atu]+san-.*)$")
SIBLING = "libibverbs.so.1"
LEANS_ON_SIBLING = {"librdmacm.so.1"}
ALLOWED_UNDER_SANITIZER = re.compile(r"^(libstdc\+\+\.so\.6|libgcc_s\.so\.1)$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols_of(library):
    lines = run("nm", "-D", "--with-symbol-versions", "--defined-only", library).splitlines()
    return {f"{name}\t{kind}" for _, kind, name in (line.split() for line in lines)}


def golden_symbols(path):
    with open(path, encoding="utf-8") as file:
        return {line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")}


def dynamic_faults(library, soname):
    text = run("readelf", "--wide", "-d", library)
    needs = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    sanitized = any(re.search(r"san(\.so|-)", need) for need in needs)
    if (SIBLING in needs) != (soname in LEANS_ON_SIBLING):
        yield f"needs {needs}: {', '.join(LEANS_ON_SIBLING)} leans on {SIBLING}, and nothing else does"
    if SIBLING in needs and not re.search(r"\(RUNPATH\).*\[\$ORIGIN\]", text):
        yield f"its RUNPATH is not $ORIGIN, so that {SIBLING} may be another's"
    for need in set(needs) - {SIBLING}:
        if not (ALLOWED_NEEDS.match(need) or sanitized and ALLOWED_UNDER_SANITIZER.match(need)):
            yield f"needs {need}"
    if f"soname: [{soname}]" not in text:
        yield f"its SONAME is not {soname}"
    if "NODELETE" not in text:
        yield "it is not marked NODELETE"
    if "NOW" in text.replace("NODELETE", ""):
        yield "it is marked for immediate binding"


def main():
    library, golden, soname = sys.argv[1:]
    got, wanted = symbols_of(library), golden_symbols(golden)
    faults = [f"missing: {symbol}" for symbol in sorted(wanted - got)]
    faults += [f"surplus: {symbol}" for symbol in sorted(got - wanted)]
    faults += list(dynamic_faults(library, soname))
    for fault in faults:
        print(fault)
    print(f"{library}: {len(wanted)} symbols wanted, {len(got)} there, {len(faults)} faults")
    return 1 if faults or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
