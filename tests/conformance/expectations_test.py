"""The comparison itself: every way in which a run can differ must be seen."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import expectations  # noqa: E402
import suite  # noqa: E402
from suite import Result  # noqa: E402

LIST = """
[pass]
cases =
  # a remark
  t.A.one
  t.A.two
  t.C.ours
[windows]
says = ^Create MW
because = later
cases = t.B.*
[privileged]
says = by root
because = a privilege
passes_as = root
cases = t.D.x
[others]
says = hardware
because = theirs
counted = no
cases = t.C.*
"""
GOOD = {"t.A.one": Result("pass", ""), "t.A.two": Result("pass", ""), "t.B.x": Result("skip", "Create MW is not supported"),
        "t.C.ours": Result("pass", ""), "t.D.x": Result("skip", "must be run by root"), "t.C.y": Result("skip", "other hardware")}


class FakeHost:
    """Plays the driver: a script of (status, output) for each start."""

    def __init__(self, *script):
        self.script, self.first = list(script), []

    def run(self, argv, timeout):
        self.first.append(argv[1])
        return self.script.pop(0)


def lines(*texts):
    return "".join(f"\n{suite.MARK}{text}\n" for text in texts)


class Comparison(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(LIST)
            file.flush()
            self.expected = expectations.read(pathlib.Path(file.name))

    def differing(self, partial=False, **changes):
        results = {**GOOD, **{name.replace("_", "."): result for name, result in changes.items()}}
        return [case for case, *_ in expectations.compare(self.expected, results, partial).differences]

    def test_what_a_user_may_not_passes_for_root(self):
        as_root = {**GOOD, "t.D.x": Result("pass", "")}
        self.assertEqual(expectations.compare(self.expected, as_root, False, "root").differences, [])
        self.assertEqual([case for case, *_ in expectations.compare(self.expected, as_root, False).differences], ["t.D.x"])
        self.assertEqual([case for case, *_ in expectations.compare(self.expected, GOOD, False, "root").differences], ["t.D.x"])

    def test_a_name_goes_before_a_pattern(self):
        self.assertEqual(self.differing(), [])
        self.assertEqual(self.differing(t_C_ours=Result("skip", "other hardware")), ["t.C.ours"])

    def other_release(self, **changes):
        results = {**GOOD, **{name.replace("_", "."): result for name, result in changes.items()}}
        return expectations.compare_other_release(self.expected, results)

    def test_another_release_may_have_other_cases_and_words(self):
        verdict = self.other_release(t_B_x=Result("pass", ""), t_C_y=Result("skip", "in other words"),
                                     t_new_z=Result("skip", "unheard of"), t_new_y=Result("pass", ""))
        self.assertEqual((verdict.passed, sum(verdict.skipped.values()), verdict.differences), (5, 3, []))

    def test_nothing_goes_wrong_in_another_release_either(self):
        verdict = self.other_release(t_A_one=Result("skip", "why?"), t_new_z=Result("fail", "?"), t_C_y=Result("crash", "?"))
        self.assertEqual([case for case, *_ in verdict.differences], ["t.A.one", "t.C.y", "t.new.z"])

    def test_agreement(self):
        verdict = expectations.compare(self.expected, GOOD, False)
        self.assertEqual((verdict.passed, dict(verdict.skipped), verdict.differences), (3, {"windows": 1, "privileged": 1, "others": 1}, []))
        self.assertEqual(self.expected.uncounted, {"others"})

    def test_failures_skips_and_crashes_in_place_of_a_pass(self):
        for outcome in ("fail", "skip", "crash"):
            self.assertEqual(self.differing(t_A_one=Result(outcome, "")), ["t.A.one"])

    def test_a_pass_or_another_reason_in_place_of_a_skip(self):
        self.assertEqual(self.differing(t_B_x=Result("pass", "")), ["t.B.x"])
        self.assertEqual(self.differing(t_B_x=Result("skip", "no device")), ["t.B.x"])
        self.assertEqual(self.differing(t_B_x=Result("fail", "Create MW")), ["t.B.x"])

    def test_cases_that_nobody_listed_or_that_did_not_run(self):
        self.assertEqual(self.differing(t_D_z=Result("pass", "")), ["t.D.z"])
        results = {case: result for case, result in GOOD.items() if case != "t.A.two"}
        self.assertEqual(len(expectations.compare(self.expected, results, False).differences), 1)
        self.assertEqual(expectations.compare(self.expected, results, True).differences, [])


class Runs(unittest.TestCase):
    ONE = ('{"event": "start", "case": "a"}', '{"event": "end", "case": "a", "outcome": "pass", "detail": ""}')
    TWO = ('{"event": "start", "case": "b"}',)

    def test_goes_on_behind_a_crash(self):
        host = FakeHost((-11, lines(*self.ONE, *self.TWO)), (0, lines('{"event": "done"}')))
        results = suite.run(host, ["driver"], 1, "")
        self.assertEqual((results["a"].outcome, results["b"].outcome, host.first), ("pass", "crash", ["0", "2"]))

    def test_tells_a_hang_from_a_crash(self):
        host = FakeHost((1, lines(*self.TWO) + "Timeout (0:01:00)!\n"), (0, lines('{"event": "done"}')))
        self.assertIn("hung", suite.run(host, ["driver"], 1, "")["b"].detail)

    def test_a_crash_at_the_very_end_counts(self):
        host = FakeHost((-6, lines(*self.ONE, '{"event": "done"}')))
        self.assertEqual(suite.run(host, ["driver"], 1, "")[expectations.ITSELF].outcome, "crash")


if __name__ == "__main__":
    unittest.main()
