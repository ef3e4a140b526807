"""The figures that have to be reached on one machine: which two are compared, what is asked, and what was seen."""
import dataclasses
import functools

from figures import taking
from figures.contenders import Iperf3, Libfabric, Machine, Own, Perftest, PerftestOnFabric, PerftestOnIwarp, Qperf, Ucx, UcxOnDevice
from figures.plot import size_text
from figures.questions import POSIX, RING, listed, many_queue_pairs, many_writes
from figures.turns import Cell, Question, ratio_of

SMALL, LARGE, HUGE = 8, 65536, 1 << 20


@dataclasses.dataclass
class Line:
    """`ours` / `theirs` is asked to be at least or at most `bound`. `about`: the number of the demand."""
    about: int
    what: str
    ours: tuple
    theirs: tuple
    at_least: bool
    bound: float

    @property
    def asked(self):
        return f"{'≥' if self.at_least else '≤'} {self.bound:.1f}" if self.bound * 10 % 1 == 0 else f"{'≥' if self.at_least else '≤'} {self.bound}"

    def judge(self, ratio):
        return ratio >= self.bound if self.at_least else ratio <= self.bound


class Verdict:
    """The question's cells are the figures, its x the group that is measured together."""

    def __init__(self, places, quick, demands=()):
        """`demands`: the lines about these alone; all by default."""
        self.places, self.lines, self._cells, self._group = places, [], {}, 0
        self._usual = 2 if quick else 3  # turns in a round
        if places.host:
            self._direct()
            self._shared()
            self._two_sided()
            self._wire(places.host, "loopback wire", wire=True)
            self._library(places.host, "direct")
            self._empty_behind()
            self._many(places.host, "direct", wire=False)
            self._many(places.host, "loopback wire", wire=True)
            self._neighbour()
            self._iwarp(places.host, wire=True)
            self._iwarp_direct()
            self._fabric()
        for site in places.veths:
            self._wire(site, site.name, wire=False)
            self._many(site, site.name, wire=False)
            self._library(site, site.name)
            self._iwarp(site, wire=False)
        if demands:
            self._keep(demands)
        self.question = Question("verdict", "Figures to reach", "", "", list(self._cells.values()), repeats=2 * self._usual)

    def _keep(self, demands):
        self.lines = [line for line in self.lines if line.about in demands]
        wanted = {key for line in self.lines for key in (line.ours, line.theirs)}
        self._cells = {key: cell for key, cell in self._cells.items() if key in wanted}

    def _figure(self, site, place, contender, size, take=taking.one, turns=None):
        """The name of a figure, which is taken once a turn whoever compares with it.

        Latencies below a microsecond are taken twice as often (`turns` 0): they are quick to take, and change with the way
        between the processors.
        """
        beside = ", idle neighbour" if take is taking.beside_neighbour else ""
        key = (f"{contender.name}, {size_text(size)}, {place}{beside} [{contender.quantity}]", self._group)
        self._cells.setdefault(key, Cell(key[0], self._group, site, functools.partial(take, site, contender, size),
                                        turns=self._usual if turns is None else turns))
        return key

    def _compare(self, about, what, ours, theirs, asked):
        sign, bound = asked.split()
        self.lines.append(Line(about, what, ours, theirs, sign == ">=", float(bound)))

    def _direct(self):
        """One-sided operations beside the system call that does the same."""
        host = self.places.host
        for size in (LARGE, HUGE):
            self._group += 1
            call = self._figure(host, "one host", Machine("process_vm_writev"), size)
            write = self._figure(host, "direct", Perftest("ib_write_bw"), size)
            self._compare(1, f"ib_write_bw {size_text(size)} direct / process_vm_writev", write, call, ">= 0.9")
        self._group += 1
        call = self._figure(host, "one host", Machine("process_vm_writev", "us"), SMALL, turns=0)
        latency = self._figure(host, "direct", Perftest("ib_write_lat"), SMALL, turns=0)
        self._compare(3, "ib_write_lat 8 B direct / one process_vm_writev", latency, call, "<= 1.5")

    def _shared(self):
        host = self.places.host
        self._group += 1
        put = self._figure(host, "one host", Ucx("ucp_put_lat", POSIX), SMALL, turns=0)
        ours = self._figure(host, "shared memory", Own("write_latency", ["--shared"]), SMALL, turns=0)
        self._figure(host, "one host", Machine("cache_line", "us"), SMALL, turns=0)
        self._compare(3, "write latency 8 B on shared memory / UCX put_lat", ours, put, "<= 1.2")
        self._group += 1
        copy = self._figure(host, "one host", Machine("memcpy"), LARGE)
        rate = self._figure(host, "shared memory", Own("write_rate", ["--shared"]), LARGE)
        self._compare(3, "writes of 64 KiB on shared memory / memcpy", rate, copy, ">= 0.8")

    def _two_sided(self):
        host = self.places.host
        self._group += 1
        tag = self._figure(host, "one host", Ucx("tag_lat", POSIX), SMALL, turns=0)
        send = self._figure(host, "direct", Perftest("ib_send_lat"), SMALL, turns=0)
        tcp = self._figure(host, "loopback", Qperf("tcp_lat"), SMALL)
        self._compare(2, "ib_send_lat 8 B direct / UCX posix tag_lat", send, tag, "<= 1.0")
        polling = self._figure(host, "loopback", Libfabric("tcp"), SMALL)
        self._compare(2, "ib_send_lat 8 B direct / qperf tcp_lat", send, tcp, "<= 0.1")
        self._compare(2, "ib_send_lat 8 B direct / fi_pingpong tcp, which polls", send, polling, "<= 0.1")
        self._group += 1
        bandwidth = self._figure(host, "direct", Perftest("ib_send_bw"), LARGE)
        theirs = self._figure(host, "one host", Ucx("tag_bw", POSIX), LARGE)
        self._compare(4, "ib_send_bw 64 KiB direct / UCX posix/cma tag_bw", bandwidth, theirs, ">= 1.0")
        self._group += 1
        rate = self._figure(host, "direct, lists of 64", listed("ib_send_bw", 64), SMALL)
        theirs = self._figure(host, "one host", Ucx("tag_bw", POSIX, "M/s"), SMALL)
        self._compare(4, "messages a second of 8 B, ib_send_bw -l 64 direct / UCX posix tag_bw", rate, theirs, ">= 1.0")

    def _wire(self, site, name, wire):
        self._group += 1
        stream = self._figure(site, self.places.tcp(site), Iperf3(), Iperf3.USUAL_BLOCK)
        write = self._figure(site, name, Perftest("ib_write_bw", wire), LARGE)
        self._compare(5, f"ib_write_bw 64 KiB, {name} / iperf3", write, stream, ">= 1.0")
        if wire:
            return
        self._group += 1
        tcp = self._figure(site, name, Qperf("tcp_lat"), SMALL)
        polling = self._figure(site, name, Libfabric("tcp"), SMALL)
        for program in ("ib_send_lat", "ib_write_lat"):
            ours = self._figure(site, name, Perftest(program), SMALL)
            self._compare(5, f"{program} 8 B, {name} / qperf tcp_lat", ours, tcp, "<= 1.0")
            self._compare(5, f"{program} 8 B, {name} / fi_pingpong tcp, which polls", ours, polling, "<= 1.0")

    def _library(self, site, name):
        """UCX on the device beside perftest on it."""
        for test, program in (("tag_lat", "ib_send_lat"), ("ucp_put_lat", "ib_write_lat")):
            self._group += 1
            library = self._figure(site, name, UcxOnDevice(test), SMALL, turns=0)
            plain = self._figure(site, name, Perftest(program), SMALL, turns=0)
            self._compare(7, f"UCX rc_v {test} 8 B, {name} / {program}", library, plain, "<= 1.3")
        for size in (LARGE, HUGE):
            self._group += 1
            plain = self._figure(site, name, Perftest("ib_write_bw"), size)
            wanted = {test: UcxOnDevice(test) for test in ("tag_bw", "ucp_put_bw")}
            if size == LARGE:
                wanted["tag_bw with UCX_RNDV_THRESH=16k"] = UcxOnDevice("tag_bw", rendezvous=True)
            for what, contender in wanted.items():
                library = self._figure(site, name, contender, size)
                self._compare(7, f"UCX rc_v {what} {size_text(size)}, {name} / ib_write_bw", library, plain, ">= 0.85")

    def _empty_behind(self):
        """UCX's way to wait for what it has written is an empty WRITE, which needs the target no more than others do."""
        for size in (4096, LARGE, HUGE, 4 * HUGE):
            self._group += 1
            empty, short = (self._figure(self.places.host, "direct", Own("write_latency", ["--then", str(then)], note=f", then {then} B"), size)
                            for then in (0, 8))
            self._compare(7, f"WRITEs of {size_text(size)}, each with an empty one behind it / with one of 8 B, direct", empty, short, "<= 1.2")

    def _many(self, site, name, wire):
        self._thousand(6, site, name, many_queue_pairs(1, wire), many_queue_pairs(1000, wire), ">= 0.9")

    def _thousand(self, about, site, name, with_one, with_thousand, asked):
        """Programs with 1,000 queue pairs beside the same with one."""
        self._group += 1
        for one, thousand in zip(with_one, with_thousand):
            label = f"1000 QPs / 1 QP, {one.name}, {name}"
            one.name, thousand.name = f"{one.name}, 1 QP", f"{thousand.name}, 1000 QPs"
            turns = self._usual - 1  # setting up a thousand takes longest of all
            self._compare(about, label, self._figure(site, name, thousand, LARGE, turns=turns),
                          self._figure(site, name, one, LARGE, turns=turns), asked)

    def _iwarp(self, site, wire):
        name = f"iWARP, {site.name if not wire else 'loopback wire'}"
        self._group += 1
        stream = self._figure(site, self.places.tcp(site), Iperf3(), Iperf3.USUAL_BLOCK)
        for crc, bound in ((False, ">= 0.95"), (True, ">= 0.75")):
            write = self._figure(site, name, PerftestOnIwarp("ib_write_bw", crc, wire), LARGE)
            self._compare(8, f"ib_write_bw 64 KiB{', CRC' if crc else ''}, {name} / iperf3", write, stream, bound)
        self._iwarp_latency(site, name, wire)
        one, thousand = (many_writes(PerftestOnIwarp, count, wire) for count in (1, 1000))
        self._thousand(8, site, name, [one], [thousand], ">= 0.85")

    def _iwarp_direct(self):
        """Where no TCP is in the way it is as RoCE's."""
        host, name = self.places.host, "iWARP, direct"
        self._iwarp_latency(host, name, wire=False)
        self._group += 1
        ours = self._figure(host, name, PerftestOnIwarp("ib_write_bw"), LARGE)
        roce = self._figure(host, "direct", Perftest("ib_write_bw"), LARGE)
        self._compare(8, f"ib_write_bw 64 KiB, {name} / RoCE, direct", ours, roce, ">= 0.9")

    def _fabric(self):
        """Every packet goes by the fabric's process; RoCE's go from program to program."""
        self._group += 1
        take = functools.partial(taking.through_switches, RING)
        ours = self._figure(self.places.host, "3 switches", PerftestOnFabric("ib_write_bw", "host6", "host1"), LARGE, take)
        roce = self._figure(self.places.host, "loopback wire", Perftest("ib_write_bw", wire=True), LARGE)
        self._compare(9, "ib_write_bw 64 KiB through 3 switches / RoCE, loopback wire", ours, roce, ">= 0.3")

    def _iwarp_latency(self, site, name, wire):
        self._group += 1
        polling = self._figure(site, self.places.tcp(site), Libfabric("tcp"), SMALL)
        for program in ("ib_send_lat", "ib_write_lat"):
            ours = self._figure(site, name, PerftestOnIwarp(program, wire=wire), SMALL)
            self._compare(8, f"{program} 8 B, {name} / fi_pingpong tcp", ours, polling, "<= 1.2")

    def _neighbour(self):
        host = self.places.host
        for program, size, asked in (("ib_write_bw", LARGE, ">= 1.0"), ("ib_write_lat", SMALL, "<= 1.0"),
                                     ("ib_send_lat", SMALL, "<= 1.0")):
            self._group += 1
            alone = self._figure(host, "direct", Perftest(program), size)
            beside = self._figure(host, "direct", Perftest(program), size, taking.beside_neighbour)
            self._compare(6, f"{program} {size_text(size)} direct beside an idle process / alone", beside, alone, asked)

    def rows(self):
        """One dict for each line, in the order of the demands."""
        rows = []
        for line in sorted(self.lines, key=lambda line: line.about):
            ours, theirs = self._cells[line.ours], self._cells[line.theirs]
            seen = ratio_of(ours, theirs)
            rows.append({"about": line.about, "what": line.what, "asked": line.asked, "ours": ours.median, "theirs": theirs.median,
                         "ratio": seen[0] if seen else None, "quartiles": list(seen[1:]) if seen else None,
                         "met": self.met(line, seen), "needs": ours.absent or theirs.absent,
                         "tried": bool(ours.values and theirs.values)})
        return rows

    @staticmethod
    def met(line, seen):
        if not seen:
            return "not measured"
        if line.judge(seen[0]):
            return "yes"
        # What differs by less than the turns do is no difference.
        return "within the spread" if line.bound == 1.0 and line.about == 6 and seen[1] <= line.bound <= seen[2] else "no"
