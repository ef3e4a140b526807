"""Sums up the results of scripts/test: tally.py FOLDER SECONDS.

Reads the JUnit files that ctest wrote (NAME.xml), the labels (NAME.json) and the outcome of the build steps
(NAME.step-passed, NAME.step-failed). A GoogleTest program counts by its cases, and so does any test that ends with
a line "N passed, N failed[, N skipped]". Exits with 1 when something failed or nothing was run.
"""
import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

Tally = collections.namedtuple("Tally", "passed failed skipped")
GTEST_TOTAL = re.compile(r"^\[ +(PASSED|FAILED|SKIPPED) +\] (\d+) tests?[.,]", re.M)
OWN_TOTAL = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
# Characters that XML 1.0 forbids, even escaped.
FORBIDDEN = re.compile(r"&#(?:x(?:[0-8bcefBCEF]|1[0-9a-fA-F])|[0-8]|1[124-9]|2[0-9]|3[01]);|[\x00-\x08\x0b\x0c\x0e-\x1f]")
# Where an output says what went wrong: GoogleTest, our own scripts, sanitizers, Python.
TELLING = re.compile(r": Failure$|^FAILED|ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: |^Traceback ")
LAST_LINES, TOLD_LINES, MOST_PLACES = 40, 12, 5
SUITES = ("lint", "unit", "golden", "abi", "sim", "cli", "fuzz", "conformance", "interop")


def cases_of(status, output):
    """The cases that one ctest entry stands for."""
    own = OWN_TOTAL.findall(output)
    totals = {}
    for word, number in GTEST_TOTAL.findall(output):
        totals[word] = int(number)
    if own:
        passed, failed, skipped = (int(number or 0) for number in own[-1])
    elif totals:
        passed, failed, skipped = (totals.get(word, 0) for word in ("PASSED", "FAILED", "SKIPPED"))
    else:
        passed, failed, skipped = 1, 0, 0
    if status in ("notrun", "disabled"):
        return Tally(0, 0, max(1, skipped))
    if status != "run":
        return Tally(0 if not (own or totals) else passed, max(1, failed), skipped)
    return Tally(passed, failed, skipped)


def labels_of(path):
    """Test name → its suite, from ctest --show-only=json-v1."""
    suites = {}
    try:
        tests = json.loads(path.read_text())["tests"]
    except (OSError, ValueError, KeyError):
        return suites
    for test in tests:
        for entry in test.get("properties", []):
            if entry["name"] == "LABELS":
                suites[test["name"]] = next((s for s in SUITES if s in entry["value"]), "other")
    return suites


def excerpt(output):
    """The end of an output, and before that where it says first what went wrong, however much came later."""
    lines = output.splitlines()
    end = max(0, len(lines) - LAST_LINES)
    shown, past = [], 0
    for place in [number for number in range(end) if TELLING.search(lines[number])][:MOST_PLACES]:
        if place >= past:
            past = min(place + TOLD_LINES, end)
            shown += [*lines[place:past], "[…]"]
    return shown + lines[end:]


def read_results(folder):
    """Yields (suite, test name, Tally, seconds, output)."""
    for path in sorted(folder.glob("*.xml")):
        run = path.stem
        suites = labels_of(path.with_suffix(".json"))
        root = xml.etree.ElementTree.fromstring(FORBIDDEN.sub("", path.read_text(errors="replace")))
        for case in root.iter("testcase"):
            suite = run if run in ("asan", "tsan") else suites.get(case.get("name"), "other")
            output = case.findtext("system-out") or ""
            yield (suite, case.get("name"), cases_of(case.get("status"), output), float(case.get("time") or 0), output)
    for path in sorted(folder.glob("*.step-*")):
        passed = path.name.endswith("passed")
        yield ("steps", path.name.split(".step-")[0], Tally(int(passed), int(not passed), 0), 0.0, "")


def main():
    folder, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    table = collections.OrderedDict()
    failures = []
    for suite, name, tally, spent, output in read_results(folder):
        old = table.get(suite, (Tally(0, 0, 0), 0.0))
        table[suite] = (Tally(*(a + b for a, b in zip(old[0], tally))), old[1] + spent)
        if tally.failed:
            failures.append((suite, name, output))
    for suite, name, output in failures:
        print(f"\n-- FAILED: {suite}: {name}")
        print("\n".join("   " + line for line in excerpt(output)))
    print(f"\n{'suite':<10} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}")
    for suite, (tally, spent) in table.items():
        print(f"{suite:<10} {tally.passed:>7} {tally.failed:>7} {tally.skipped:>8} {spent:>8.1f}")
    total = Tally(*(sum(row[0][i] for row in table.values()) for i in range(3)))
    if failures:
        print("\nfailed: " + ", ".join(f"{suite}: {name}" for suite, name, _ in failures))
        print(f"logs: {folder}")
    print(f"\nall took {seconds // 60} min {seconds % 60} s")
    print(f"{total.passed} passed, {total.failed} failed" + (f", {total.skipped} skipped" if total.skipped else ""))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
