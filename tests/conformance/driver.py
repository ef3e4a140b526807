"""Runs inside the unpacked suite, on Debian's Python: driver.py FIRST-CASE REGEX SUITE-OPTION…

Does what the suite's run_tests.py does, and writes a record for each event: a line of the mark and JSON. A case that
takes too long ends the process, with the stacks of all threads.
"""
import faulthandler
import importlib.machinery
import json
import multiprocessing
import os
import re
import sys
import traceback
import unittest

MARK = "@record "
LONGEST_CASE = 60  # seconds
CAP_NET_RAW = 13


def record(**fields):
    print("\n" + MARK + json.dumps(fields), flush=True)


class Recorder(unittest.TestResult):
    """The worst outcome of a case and of its parts is what counts."""

    def startTest(self, test):
        self.outcome, self.detail = None, ""
        faulthandler.dump_traceback_later(LONGEST_CASE, exit=True)
        record(event="start", case=test.id())

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        record(event="end", case=test.id(), outcome=self.outcome or "pass", detail=self.detail)

    def _failed(self, error):
        self.outcome, self.detail = "fail", self.detail + "".join(traceback.format_exception(*error))

    def addError(self, test, error):
        if hasattr(self, "outcome"):
            self._failed(error)
        else:  # of a class or module, before its first case
            record(event="end", case=test.id(), outcome="fail", detail="".join(traceback.format_exception(*error)))

    def addFailure(self, test, error):
        self._failed(error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._failed(error)

    def addUnexpectedSuccess(self, test):
        self.outcome, self.detail = "fail", "passed, though the suite expects a failure"

    def addSkip(self, test, reason):
        if self.outcome is None:
            self.outcome, self.detail = "skip", reason


def rank_as_user():
    """The suite asks who it is before it sends raw packets, and user 0 of a user namespace may not although it is 0."""
    with open("/proc/self/status", encoding="ascii") as status:
        capabilities = int(re.search(r"^CapEff:\s*(\w+)", status.read(), re.M)[1], 16)
    if os.geteuid() == 0 and not capabilities >> CAP_NET_RAW & 1:
        os.geteuid = lambda: 65534


def cases_of(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from cases_of(test)
        else:
            yield test


def main():
    rank_as_user()
    here = os.path.dirname(os.path.abspath(__file__))
    first, match = int(sys.argv[1]), re.compile(sys.argv[2])
    sys.argv[1:] = sys.argv[3:]
    sys.path.insert(0, here)
    sys.dont_write_bytecode = True
    multiprocessing.set_start_method("fork")  # which the suite is written for; Python 3.14 has another default
    from args_parser import parser  # the suite's
    module = importlib.machinery.SourceFileLoader("tests", os.path.join(here, "__init__.py")).load_module()
    parser.parse_args()
    found = unittest.defaultTestLoader.loadTestsFromModule(module)
    chosen = [case for case in cases_of(found) if match.search(case.id())]
    unittest.TestSuite(chosen[first:]).run(Recorder())
    record(event="done")


main()
