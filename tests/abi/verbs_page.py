#!/usr/bin/env python3
"""docs/verbs.md against the libraries and the tests.

    verbs_page.py SOURCE HEADERS

Every public symbol of tests/abi/golden/releases-*.txt and every ibv_ function of the headers has one row; a row names
nothing else. The verbs of later_verbs.def are those that are refused. The tests that a row names are there.
"""
import pathlib
import re
import sys

ANSWERS = {"works", "part", "refused"}
WAYS = {"-", "all", "packets"}
INLINE = re.compile(r"^static inline\s[^;(]*?\b(_*ibv_\w+)\s*\(", re.M)
NOT_CALLS = {"__ibv_get_device_list", "__ibv_query_port"}  # of the header, behind macros of the calls
NOT_IN_EVERY_HEADER = {"ibv_wr_atomic_write", "ibv_wr_flush", "ibv_flow_label_to_udp_sport", "ibv_is_qpt_supported",
                       "ibv_query_gid_ex", "ibv_query_gid_table", "ibv_advise_mr", "ibv_inc_rkey"}


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def rows_of(page):
    """(line, calls, answer, ways, tests, remark) of the tables of calls."""
    for number, line in enumerate(page.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            yield number, quoted(cells[0]), cells[1], cells[2], quoted(cells[3]), cells[4]


def public_symbols(source):
    out = set()
    for library in ("ibverbs", "rdmacm"):
        for line in (source / f"tests/abi/golden/releases-{library}.txt").read_text().splitlines():
            words = line.split()
            if line.startswith("#") or words[0] == "symbol" or "PRIVATE" in words[1]:
                continue
            out.add(words[0].lstrip("!"))
    return out


def inline_calls(headers):
    text = (headers / "infiniband/verbs.h").read_text()
    return set(INLINE.findall(re.sub(r"\s*\n\s*(?=\w+\s*\()", " ", text))) - NOT_CALLS


class Tests:
    """What a row may name."""

    def __init__(self, source):
        self.ours = set()
        for path in (source / "tests").rglob("*.cc"):
            for suite, name in re.findall(r"\bTEST(?:_[FP])?\((\w+),\s*(\w+)\)", path.read_text()):
                self.ours |= {suite, f"{suite}.{name}"}
        suite = (source / "tests/conformance/expected.ini").read_text()
        self.suite = set(re.findall(r"tests\.(test_\w+\.\w+)\.", suite))
        self.programs = "\n".join(path.read_text() for path in (source / "tests/interop").rglob("*.py"))

    def has(self, name):
        return name in self.ours or name in self.suite or re.search(rf"\b{re.escape(name)}\b", self.programs)


def faults_of(source, headers):
    tests, seen = Tests(source), {}
    wanted = public_symbols(source) | inline_calls(headers)
    later = set(re.findall(r"^SOFTRNIC_LATER_VERB\((\w+)\)", (source / "src/base/later_verbs.def").read_text(), re.M))
    page = (source / "docs/verbs.md").read_text()
    for number, calls, answer, ways, named, remark in rows_of(page):
        if answer not in ANSWERS or ways not in WAYS:
            yield f"{number}: answer {answer}, ways {ways}"
        if answer != "works" and not remark:
            yield f"{number}: no remark says what is missing"
        for call in calls:
            if call in seen:
                yield f"{number}: {call} has a row already"
            seen[call] = answer
        for test in named:
            if not tests.has(test):
                yield f"{number}: there is no test {test}"
    for call in sorted(wanted - seen.keys()):
        yield f"no row for {call}"
    for call in sorted(seen.keys() - wanted - NOT_IN_EVERY_HEADER):
        yield f"{call}: no library exports it, and no header has it"
    refused = {call for call, answer in seen.items() if answer == "refused"}
    for call in sorted(refused ^ {f"ibv_{name}" for name in later}):
        yield f"{call}: refused here or in later_verbs.def, not in both"
    for call in quoted(page[page.index("## Verbs of the specification"):]):
        if call.startswith("ibv_") and call not in seen:
            yield f"a verb of the specification names {call}, which has no row"
    if len(seen) < 200:
        yield f"{len(seen)} calls: the page was not understood"


if __name__ == "__main__":
    faults = list(faults_of(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
    print("\n".join(faults + [f"{len(faults)} faults"]))
    sys.exit(1 if faults else 0)
