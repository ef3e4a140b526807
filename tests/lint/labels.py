#!/usr/bin/env python3
"""Every test of a build is one that scripts/test runs: it has the label of a part, or is left out on purpose.

    tests/lint/labels.py BUILD
"""
import json
import pathlib
import re
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/test"
BY_HAND = {"long", "bench"}


def parts(text):
    """The labels that scripts/test runs of a release build."""
    return set(re.search(r"^tested_in_release=\((.*)\)$", text, re.MULTILINE)[1].split())


def labels_of(test):
    return {label for entry in test.get("properties", []) if entry["name"] == "LABELS" for label in entry["value"]}


def strays(tests, run):
    """Names of the tests that nobody runs."""
    return [test["name"] for test in tests if not labels_of(test) & (run | BY_HAND)]


def main():
    listing = subprocess.run(["ctest", "--test-dir", sys.argv[1], "--show-only=json-v1"], check=True, capture_output=True)
    tests = json.loads(listing.stdout)["tests"]
    found = strays(tests, parts(SCRIPT.read_text()))
    for name in found:
        print(f"{name}: none of its labels is a part of scripts/test")
    print(f"{len(tests)} tests, {len(found)} that scripts/test never runs")
    return 1 if found or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
