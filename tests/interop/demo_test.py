#!/usr/bin/env python3
"""Of scripts/demo: how long it thinks that a build takes, beside builds that were timed; what it says when something lacks."""
import io
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import demo_build  # noqa: E402
import demo_needs  # noqa: E402

# A build on two processors: a layer, then tenths of a second that the compiler took for each of its files, in the order of ninja;
# "-" for archives and programs.
TIMED = """
headers 28 30 - 2 1 headers 28 - 2 1 headers 34 - 2 1 base 2 3 3 - 2 1 base 2 3 3 2 2 7 6 7 2 2 2 4 - 1 wire 5 9 10 3 2 3 4 3 3
4 4 6 3 3 3 3 3 5 3 3 3 4 4 ethernet 6 - 1 transport 3 3 - 1 transport 3 6 4 3 3 3 5 3 4 3 3 3 5 6 5 3 4 4 4 4 6 5 6 4 3 3 4 4 4
4 3 2 6 5 4 4 5 7 7 3 5 4 4 4 5 3 6 5 6 6 4 4 4 4 mad 49 - 1 1 device 3 - 1 fabric 25 40 51 65 47 cm 36 - 1 cm 11 iwcm 19 - 1
rnic 6 4 5 - 1 rnic 3 8 5 8 3 6 5 3 3 3 7 4 3 6 4 4 3 6 5 2 3 5 5 6 3 3 13 7 9 6 8 8 6 8 7 2 3 4 2 4 2 3 7 6 3 3 4 3 7 4 8 cma
26 - 1 cma 31 15 link 6 - 1 link 4 4 2 4 5 8 5 4 3 3 3 3 3 3 3 3 4 4 6 3 5 5 7 control 72 - 1 control 38 net 9 - 0 flow 5 4 3 3
- 1 samehost 4 - 1 samehost 3 10 9 4 9 2 3 9 4 4 9 10 4 12 6 4 9 4 8 5 3 engine 36 - 1 engine 5 7 7 13 9 6 4 2 21 14 13 14 13 5
16 12 26 13 3 4 5 7 12 2 9 5 3 9 3 10 5 6 text 81 - 1 grammar 59 - 1 daemon 51 - 1 daemon 56 59 29 - 1 4 rsocket 30 21 abi 38 -
1 abi 32 33 26 libibverbs.so 188 abi 55 52 - 1 0 sysfs 42 - 1 sysfs 9 - 1 sysfs 7 - 3 copy 43 - 0 2 0 copy 37 55 2 6 6 doctor 18
19 - 1 cli 50 - 1 cli 50 39 6 - 1 5
"""
PROCESSORS = 2


def timed_steps():
    """[(step as ninja names it, seconds)]"""
    steps, layer = [], ""
    for word in TIMED.split():
        if not word.isdigit():
            layer = word
        elif layer == "-":
            steps.append(("Linking CXX static library src/x/libx.a", int(word) / 10))
        elif layer == demo_build.OPTIMISED_WHOLE[0]:
            steps.append((f"Linking CXX shared library lib/softrnic/{layer}.1", int(word) / 10))
        elif layer == "headers":
            steps.append(("Building CXX object CMakeFiles/softrnic_headers.dir/cmake_pch.hxx.gch", int(word) / 10))
        else:
            steps.append((f"Building CXX object src/{layer}/x.cc.o", int(word) / 10))
    return steps


def finish_times(steps):
    """[(step, when it is finished)] by processors that each take the next step."""
    free, ends = [0.0] * PROCESSORS, []
    for step, seconds in steps:
        first = free.index(min(free))
        free[first] += seconds
        ends.append((free[first], step))
    return [(step, end) for end, step in sorted(ends)]


class HowLong(unittest.TestCase):
    def judge(self, steps, compiling, linking):
        """What is said before the first step and after each tenth is right within a third, until ten seconds are left."""
        ends = finish_times(steps)
        all_of_it = ends[-1][1]
        estimate = demo_build.Estimate([step for step, _ in steps], compiling / PROCESSORS, linking / PROCESSORS)
        said, before, tenth = [(0, estimate.left())], 0, 1
        for step, end in ends:
            estimate.finished(step, end - before)
            before = end
            if end >= tenth * all_of_it / 10:
                said.append((end, estimate.left()))
                tenth += 1
        for end, left in said:
            if all_of_it - end > 10:
                self.assertLess(abs(left - (all_of_it - end)), (all_of_it - end) / 3, f"after {end:.0f} of {all_of_it:.0f} s")
        self.assertAlmostEqual(estimate.share(), 1)

    def test_as_it_was_timed(self):
        self.judge(timed_steps(), demo_build.SECONDS, demo_build.SECONDS)

    def test_on_another_machine(self):
        for factor in (0.3, 3):
            self.judge([(step, seconds * factor) for step, seconds in timed_steps()], demo_build.SECONDS * factor,
                       demo_build.SECONDS * factor)

    def test_few_steps_tell_little(self):
        """What was tried first was slower than the rest will be: soon the rest counts."""
        estimate = demo_build.Estimate([step for step, _ in timed_steps()], 2 * demo_build.SECONDS / PROCESSORS,
                                       demo_build.SECONDS / PROCESSORS)
        ends, before = finish_times(timed_steps()), 0
        for step, end in ends[: len(ends) // 3]:
            estimate.finished(step, end - before)
            before = end
        left = ends[-1][1] - before
        self.assertLess(abs(estimate.left() - left), left / 3)

    def test_with_a_compiler_cache(self):
        """Files take nearly nothing, what is linked takes as long as ever."""
        cached = [(step, 0.05 if demo_build.is_cached(step) else seconds) for step, seconds in timed_steps()]
        self.judge(cached, 0.05 / 1.2, demo_build.SECONDS)

    def test_time_goes_by_in_a_long_step(self):
        estimate = demo_build.Estimate(["Linking CXX shared library lib/softrnic/libibverbs.so.1"], 0.1, 0.5)
        before = estimate.left()
        estimate.waited(5)
        self.assertAlmostEqual(estimate.left(), before - 5)

    def test_in_words(self):
        self.assertEqual([demo_build.duration(s) for s in (0, 12, 49, 70, 200)],
                         ["5 seconds", "10 seconds", "50 seconds", "a minute", "3 minutes"])


class WhatIsSaid(unittest.TestCase):
    def test_no_terminal_gets_few_lines(self):
        out = io.StringIO()
        progress = demo_build.Progress(out)
        for _ in range(1000):
            progress.show("1%")
        progress.clear()
        self.assertEqual(out.getvalue(), "")

    def test_a_program_that_lacks_comes_with_its_package(self):
        with self.assertRaisesRegex(demo_needs.Lack, "no-such-program.*apt-get install the-package"):
            demo_needs.programs({"no-such-program": "the-package", "sh": "dash"})

    def test_a_full_disk(self):
        with self.assertRaisesRegex(demo_needs.Lack, "GiB free. Make room there"):
            demo_needs.room("/", 1 << 60, "The build")

    def test_no_folder_for_temporary_files(self):
        with unittest.mock.patch.dict(os.environ, TMPDIR="/no/such/folder"), self.assertRaisesRegex(demo_needs.Lack, "Set TMPDIR"):
            demo_needs.temporary_folder()

    def test_what_is_no_build(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(demo_needs.Lack, "Build it by scripts/build product"):
            demo_needs.built(pathlib.Path(folder))

    def test_why_there_are_no_hosts(self):
        said = "\n".join(demo_needs.describe("plain", "unshare: unshare failed: Operation not permitted"))
        self.assertRegex(said, "two processes(.|\n)*why: unshare: unshare failed(.|\n)*cure: ")

    def test_a_failed_build_is_explained(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("[1/9] Building CXX object a\nFAILED: b.o\nc++ -c b.cc\nb.cc:1: error: x\nfatal error: No space left on device\n")
            log.flush()
            said = demo_build.explain(pathlib.Path(log.name))
        self.assertIn("b.cc:1: error: x", said)
        self.assertIn("The disk is full", said)
        self.assertIn(log.name, said)
        self.assertNotIn("c++ -c", said)


if __name__ == "__main__":
    unittest.main()
