"""The bench itself: outputs are read as what they say, ratios are those of turns, and pictures are well formed."""
import pathlib
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/interop"), str(ROOT / "bench")]
from figures import plot, report  # noqa: E402
from figures.contenders import Iperf3, Libfabric, Perftest, Qperf, Ucx  # noqa: E402
from figures.questions import Places  # noqa: E402
from figures.taking import Counter, Site  # noqa: E402
from figures.turns import Cell, Question, Turns, ratio_of  # noqa: E402
from figures.verdict import Line, Verdict  # noqa: E402
from measure import Failed  # noqa: E402

WRITE_BW = """ #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      20000            8945.24            8300.00            0.132815
"""
WRITE_LAT = """ #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]
 8       20000          1.31           62.42        1.40     \t       1.43        \t0.69   \t\t1.65    \t\t13.24
"""
UCX = """|     Test     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
                       20000      0.506     0.508     0.509       15.02      15.04     1968302     1968303
"""
LIBFABRIC = """bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
8       2k      =2k      31k         0.00s     16.06       0.50       2.01
"""
QPERF = {"tcp_lat:\n    latency  =  4.5 us\n": ("tcp_lat", 4.5), "tcp_lat:\n    latency  =  1,234 ns\n": ("tcp_lat", 1.234),
         "tcp_bw:\n    bw  =  3.21 GB/sec\n": ("tcp_bw", 3.21), "tcp_bw:\n    bw  =  512 MB/sec\n": ("tcp_bw", 0.512)}


class Reading(unittest.TestCase):
    def test_perftest(self):
        self.assertAlmostEqual(Perftest("ib_write_bw").read(WRITE_BW, 65536), 8300 * 1048576 / 1e9)
        self.assertEqual(Perftest("ib_write_bw", quantity="M/s").read(WRITE_BW, 8), 0.132815)
        self.assertEqual(Perftest("ib_write_lat").read(WRITE_LAT, 8), 1.40)

    def test_others(self):
        self.assertEqual(Ucx("tag_lat", "posix,cma").read(UCX, 8), 0.506)
        self.assertAlmostEqual(Ucx("tag_bw", "tcp").read(UCX, 8), 15.04 * 1048576 / 1e9)
        self.assertAlmostEqual(Ucx("tag_bw", "tcp", "M/s").read(UCX, 8), 1.968303)
        self.assertEqual(Libfabric("shm").read(LIBFABRIC, 8), 0.50)
        for output, (test, figure) in QPERF.items():
            self.assertAlmostEqual(Qperf(test).read(output, 8), figure)
        self.assertEqual(Iperf3().read('{"end": {"sum_received": {"bits_per_second": 24e9}}}', 8), 3.0)

    def test_nothing_to_read_is_a_failure(self):
        for contender in (Perftest("ib_write_bw"), Ucx("tag_bw", "tcp"), Libfabric("tcp"), Qperf("tcp_bw")):
            self.assertRaises(Failed, contender.read, "no figures here\n", 8)

    def test_counts_of_system_calls(self):
        self.assertEqual(Counter.count("words\n29,,raw_syscalls:sys_enter,631462,100.00,,\n"), 29)
        self.assertEqual(Counter.count("rseq   1\n---------------- ---------\ntotal                   31\n"), 31)
        self.assertIsNone(Counter.count("strace: no\n"))


class Judging(unittest.TestCase):
    def cells(self, ours, theirs):
        return Cell("ours", 8, None, None, dict(enumerate(ours))), Cell("theirs", 8, None, None, dict(enumerate(theirs)))

    def test_ratios_are_those_of_turns(self):
        median, low, high = ratio_of(*self.cells([2, 30, None], [1, 10, 5]))
        self.assertEqual((median, low, high), (2.5, 2, 3))
        self.assertIsNone(ratio_of(*self.cells([None], [1])))
        rare = Cell("rare", 8, None, None, {1: 10})
        self.assertEqual(ratio_of(rare, self.cells([], [1, 5])[1]), (2, 2, 2))

    def test_bounds(self):
        at_least = Line(1, "", ("a",), ("b",), True, 0.9)
        self.assertTrue(at_least.judge(0.9))
        self.assertFalse(at_least.judge(0.89))
        at_most = Line(2, "", ("a",), ("b",), False, 0.1)
        self.assertTrue(at_most.judge(0.1))
        self.assertFalse(at_most.judge(0.11))
        self.assertEqual(Verdict.met(at_most, None), "not measured")
        none = Line(6, "", ("a",), ("b",), True, 1.0)
        self.assertEqual(Verdict.met(none, (0.99, 0.98, 1.01)), "within the spread")
        self.assertEqual(Verdict.met(none, (0.9, 0.8, 0.99)), "no")

    def test_demands_keep_their_figures_alone(self):
        places = Places(Site("one host", None, None), [Site("veth 1500", None, None, 1500)])
        whole, of_two = Verdict(places, False), Verdict(places, False, [3, 8])
        self.assertEqual([line for line in whole.lines if line.about in (3, 8)], of_two.lines)
        self.assertEqual({line.about for line in of_two.lines}, {3, 8})
        self.assertLess(len(of_two.question.cells), len(whole.question.cells))
        self.assertEqual(len(of_two.rows()), len(of_two.lines))
        self.assertEqual(Verdict(places, False, [99]).lines, [])

    def test_a_failed_figure_keeps_the_turns_together(self):
        def fail():
            raise Failed("it did not", "")
        class Lab:
            def set_mtu(self, mtu):
                self.mtu = mtu
        class Still(Site):
            def prepare(self):
                pass
        site = Still("veth", None, None, 9000)
        question = Question("q", "", "x", "us", [Cell("a", 1, site, lambda: 4.0), Cell("b", 1, site, fail)], "a")
        lab = Lab()
        turns = Turns(lab, [question], 2)
        stderr, sys.stderr = sys.stderr, open("/dev/null", "w")
        try:
            turns.run()
        finally:
            sys.stderr.close()
            sys.stderr = stderr
        self.assertEqual(([4.0, 4.0], [None, None]), tuple(list(c.values.values()) for c in question.cells))
        self.assertEqual((turns.failures, lab.mtu), (2, 9000))
        self.assertIn("| b | failed |", report.table(question))


class Drawing(unittest.TestCase):
    def test_scales(self):
        self.assertEqual([plot.number_text(n) for n in (0, 0.001, 0.0652, 1.5, 12.34, 123.4, 1356)],
                         ["0", "0.001", "0.0652", "1.5", "12.3", "123", "1356"])
        self.assertEqual([plot.x_text(n) for n in (8, 1000, 65536, 1 << 20)], ["8", "1000", "64 Ki", "1 Mi"])
        self.assertEqual(plot.size_text(8) + plot.size_text(65536), "8 B64 KiB")

    def test_pictures_are_well_formed_and_stay_inside(self):
        for log in (False, True):
            series = [plot.Series(f"<{n}> & more", [(8, 0.0), (65536, 3.0 + n), (1 << 23, 1e4)], n % 2 == 0) for n in range(14)]
            tree = xml.etree.ElementTree.fromstring(plot.svg("a < b", "size", "GB/s", series, log, 0.01, "a & b"))
            names = [e.text for e in tree.iter() if e.get("class") == "legend"]
            self.assertEqual(sorted(s.name for s in series), sorted(names))
            for circle in tree.iter("{http://www.w3.org/2000/svg}circle"):
                self.assertTrue(plot.LEFT <= float(circle.get("cx")) <= plot.WIDTH)
                self.assertTrue(plot.TOP - 1 <= float(circle.get("cy")) <= plot.HEIGHT - plot.BOTTOM + 1)


if __name__ == "__main__":
    unittest.main()
