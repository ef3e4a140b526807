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
base 3 8 5 4 5 1 2 10 9 12 4 4 0 5 - 3 wire 7 10 16 5 2 5 7 6 6 5 7 10 6 5 6 4 3 6 6 5 6 7 3 ethernet 3 - 1 ethernet 3 2 5 3
3 transport 6 - 1 transport 9 9 13 11 9 5 11 11 8 8 6 12 12 13 9 10 11 11 11 13 12 14 11 9 9 10 10 10 11 8 5 12 12 10 12 12
16 15 9 14 10 8 10 12 8 11 11 13 13 11 12 11 10 mad 10 - 2 mad 21 17 8 4 21 14 9 11 10 18 - 1 device 6 - 1 fabric 13 14 12 14
14 16 13 14 13 13 12 15 15 15 8 11 27 21 23 19 14 5 7 8 11 18 8 14 29 24 26 28 12 12 11 28 33 11 8 14 12 1 14 15 18 22 24 23
14 7 4 21 11 15 10 20 12 10 17 cm 12 20 - 4 cm 12 14 13 12 11 13 34 8 12 12 13 15 14 13 16 10 8 iwcm 22 - 1 iwcm 19 15 rnic
15 - 1 rnic 11 11 11 18 13 17 6 15 13 8 6 9 15 7 9 15 13 3 16 16 1 10 15 13 17 10 5 26 18 19 14 17 18 15 17 15 6 10 11 3 11 1
11 16 15 4 10 10 4 16 11 16 cma 5 15 - 2 cma 11 13 15 10 15 18 13 10 16 20 19 7 32 15 6 10 9 14 14 15 5 9 10 12 16 4 link 15
- 2 link 8 11 2 12 13 19 9 9 10 8 6 10 10 6 6 10 9 11 15 7 13 13 16 control 6 51 - 1 control 64 33 9 12 16 11 4 15 5 32 16 10
14 16 12 1 16 7 net 9 - 2 net 8 11 2 11 flow 13 - 1 flow 12 7 9 samehost 12 - 1 samehost 6 20 20 11 20 2 2 19 13 7 20 21 11
23 14 10 18 11 18 9 2 engine 60 - 1 engine 13 18 18 26 18 14 10 1 39 29 28 30 27 13 32 27 48 29 7 12 13 16 25 6 18 11 6 17 6
19 11 14 grammar 65 - 3 grammar 41 daemon 9 - 1 daemon 17 8 31 11 36 36 9 8 8 20 12 12 18 15 15 15 8 35 7 7 10 7 18 57 50 13
6 16 17 84 - 2 daemon 51 - 10 rsocket 7 13 5 22 19 12 11 16 4 7 11 2 13 11 4 6 10 8 12 12 18 14 3 abi 32 - 1 abi 24 7 4 21 28
27 19 19 25 18 19 24 1 21 13 1 30 20 2 30 23 1 4 21 26 2 16 18 25 20 5 5 27 29 20 libibverbs.so 277 abi 37 28 33 31 30 18 25
29 23 17 - 0 abi 23 17 2 16 16 23 22 14 4 26 - 3 0 abi 25 2 17 25 17 15 sysfs 16 - 3 sysfs 17 18 14 11 17 1 6 4 0 - 0 sysfs
13 - 1 copy 15 - 1 copy 5 7 10 5 28 19 14 22 14 4 26 6 12 10 24 10 31 16 16 35 26 26 41 24 9 10 2 7 7 doctor 8 - 3 doctor 6 9
9 16 11 8 8 13 12 28 28 27 28 16 28 9 cli 38 - 1 cli 56 57 52 58 53 41 40 44 39 53 61 43 43 52 46 23 49 39 40 32 41 46 41 22
30 30 43 33 25 31 3 5 34 5 7 - 3 6
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
