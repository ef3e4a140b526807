#!/usr/bin/env python3
"""The symbols of every release of rdma-core in one table, and a library against it.

    releases.py check TABLE LIBRARY         every symbol that some release has is there, in its node, and nothing else
    releases.py make REPOSITORY MAP REF…    prints the table from the version scripts in a clone of rdma-core: MAP is the
                                            script's path there, REF a tag like v59.0, or N=REF for what has no tag

A column is a release that changed something; those between have the symbols of the one before. A row is a symbol and
its node: + where a release has it, . where not. A row that begins with ! is not there yet: it may not be exported.
"""
import re
import subprocess
import sys

# Named by version scripts of old releases and never defined: they are inline functions, or came to nothing.
NEVER_DEFINED = {"ibv_query_device_ex", "ibv_cmd_query_device", "rdma_get_local_addr", "rdma_get_peer_addr"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols_of_script(text):
    """Pairs (symbol, node) of a version script."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for node, body in re.findall(r"([\w.]+)\s*\{(.*?)\}", text, re.S):
        for name in re.sub(r"local:.*|global:", "", body, flags=re.S).split(";"):
            if name.strip() and name.strip() not in NEVER_DEFINED:
                yield name.strip(), node


def symbols_of_release(repository, path, ref):
    def show(file):
        return run("git", "-C", repository, "show", f"{ref}:{file}")

    node = re.search(r'IBVERBS_PABI_VERSION "(\d+)"', show("CMakeLists.txt"))[1]
    return frozenset(symbols_of_script(show(path).replace("@IBVERBS_PABI_VERSION@", node)))


def make(repository, path, refs):
    columns = []  # (release, symbols)
    for ref in refs:
        number, _, name = ref.rpartition("=")
        symbols = symbols_of_release(repository, path, name)
        if not columns or columns[-1][1] != symbols:
            columns.append((number or re.search(r"\d+", name)[0], symbols))
    print("# see releases.py\nsymbol node " + " ".join(number for number, _ in columns))
    for symbol in sorted(frozenset().union(*(symbols for _, symbols in columns)), key=lambda s: (s[1], s[0])):
        print(*symbol, *("+" if symbol in symbols else "." for _, symbols in columns))


def read_table(path):
    """The symbols that have to be there, and those that are not there yet."""
    wanted, later = set(), set()
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for name, node, *releases in rows[1:]:
        if len(releases) != len(rows[0]) - 2 or "+" not in releases:
            sys.exit(f"{path}: row of {name}: not a mark for each release")
        (later if name.startswith("!") else wanted).add((name.lstrip("!"), node))
    return wanted, later


def check(table, library):
    wanted, later = read_table(table)
    lines = run("nm", "-D", "--with-symbol-versions", "--defined-only", library).splitlines()
    exported = {tuple(re.split("@+", line.split()[2])) for line in lines if "@" in line}
    faults = [f"missing: {name}@{node}" for name, node in sorted(wanted - exported)]
    faults += [f"in no release: {name}@{node}" for name, node in sorted(exported - wanted - later)]
    faults += [f"is there, so take the ! away: {name}" for name, _ in sorted(later & exported)]
    print("\n".join(faults + [f"{library}: {len(wanted)} symbols wanted, {len(exported)} there, {len(faults)} faults"]))
    return 1 if faults or not wanted else 0


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(check(*sys.argv[2:4]))
