"""What is asked: each question is a list of contenders, places and sizes; the figures come from `taking`."""
import functools

from figures import taking
from figures.contenders import Iperf3, Libfabric, Machine, NotInstalled, Own, Perftest, PerftestOnFabric, Qperf, Ucx
from figures.turns import Cell, Question

SIZES = (8, 256, 4096, 65536, 1 << 20, 8 << 20)
QUICK_SIZES = (8, 65536, 1 << 20)
QP_COUNTS = (1, 10, 100, 1000)
PAIRS = (1, 2, 4, 8, 16)
BLOCK = 65536
BY_SIZE = "message size in bytes"
POSIX = "posix,cma"
TCP_BLOCKS = "iperf3 writes blocks of 128 KiB at every size."
SHARED_MEMORY = "shared memory"
RING = "ring:9,hosts=2"  # from host1 to host2 through a switch, to host4 through two, to host10 through five
MOST_SWITCHES = 5


class Places:
    """The sites, and what the paths on them are called."""

    def __init__(self, host, veths):
        self.host, self.veths = host, veths

    def tcp(self, site):
        return "loopback" if site is self.host else site.name


def cells(site, wanted, sizes, take=taking.one):
    """A cell for each (contender, place) and size; those of one size stand together, so that ratios are of neighbours in time."""
    named = [(contender, f"{contender.name}, {place}" if place else contender.name) for contender, place in wanted]
    return [Cell(name, size, site, functools.partial(take, site, contender, size)) for size in sizes for contender, name in named]


class Questions:
    def __init__(self, places, quick):
        self.places, self.quick = places, quick
        self._first_veth = places.veths[:1]  # an MTU matters to bandwidth
        self.sizes = QUICK_SIZES if quick else SIZES

    def bandwidth(self):
        host = self.places.host
        if host:
            wanted = [(c, "") for c in (Machine("memcpy"), Machine("process_vm_writev"), Ucx("ucp_put_bw", POSIX),
                                        Ucx("tag_bw", POSIX), Ucx("tag_bw", "tcp"))]
            wanted += [(Perftest(p), "direct") for p in ("ib_write_bw", "ib_send_bw", "ib_read_bw")]
            wanted += [(Own("write_rate", ["--shared"]), SHARED_MEMORY)]
            # Where `rep movsb` crawls on some processors (src/base/memory_copy.h).
            for memory, place in ([], "direct"), (["--shared"], SHARED_MEMORY):
                wanted += [(Own("write_rate", [*memory, "--offset", "16"], note=", 16 B behind a page"), place)]
            wanted += [(Perftest(p, wire=True), "wire") for p in ("ib_write_bw", "ib_send_bw")]
            wanted += [(Iperf3(), "loopback")]
            yield Question("bandwidth", "Bandwidth on one host", BY_SIZE, "GB/s", cells(host, wanted, self.sizes),
                           "process_vm_writev", log=True, note=TCP_BLOCKS)
        for site in self._first_veth if self.quick else self.places.veths:
            wanted = [(c, "") for c in (Iperf3(), Qperf("tcp_bw"), Ucx("tag_bw", "tcp"), Perftest("ib_write_bw"),
                                        Perftest("ib_send_bw"), Perftest("ib_read_bw"))]
            yield Question(f"bandwidth-{site.mtu}", f"Bandwidth over veth, MTU {site.mtu}", BY_SIZE, "GB/s",
                           cells(site, wanted, self.sizes), "iperf3", note=TCP_BLOCKS)

    def latency(self):
        host = self.places.host
        if host:
            wanted = [(c, "") for c in (Machine("process_vm_writev", "us"), Ucx("tag_lat", POSIX), Ucx("ucp_put_lat", POSIX),
                                        Ucx("tag_lat", "tcp"), Libfabric("shm"), Libfabric("tcp"), Qperf("tcp_lat"))]
            wanted += [(Perftest(p), "direct") for p in ("ib_write_lat", "ib_send_lat", "ib_read_lat")]
            wanted += [(Own("write_latency", ["--shared"]), SHARED_MEMORY)]
            wanted += [(Perftest(p, wire=True), "wire") for p in ("ib_write_lat", "ib_send_lat")]
            taken = cells(host, wanted, self.sizes) + cells(host, [(Perftest("ib_atomic_lat"), "direct")], (8,))
            yield Question("latency", "Latency on one host", BY_SIZE, "us", taken, "process_vm_writev", log=True,
                           note="One way; READ, atomics and a call of process_vm_writev as a whole.")
        for site in self._first_veth:
            wanted = [(c, "") for c in (Qperf("tcp_lat"), Libfabric("tcp"), Ucx("tag_lat", "tcp"), Perftest("ib_write_lat"),
                                        Perftest("ib_send_lat"), Perftest("ib_read_lat"))]
            taken = cells(site, wanted, self.sizes) + cells(site, [(Perftest("ib_atomic_lat"), "")], (8,))
            yield Question(f"latency-{site.mtu}", f"Latency over veth, MTU {site.mtu}", BY_SIZE, "us", taken, "qperf tcp_lat",
                           log=True, note="One way; READ and atomics as a whole.")

    def rate(self):
        """Posts in lists, with a queue that holds some of them: as a user would who wants messages a second."""
        host = self.places.host
        if not host:
            return
        taken, theirs = [], [Ucx(test, over, "M/s") for test, over in (("tag_bw", POSIX), ("ucp_put_bw", POSIX), ("tag_bw", "tcp"))]
        for length in (1, 64) if self.quick else (1, 4, 16, 64, 256):
            taken += [Cell(c.name, length, host, functools.partial(taking.one, host, c, 8)) for c in theirs]
            for wire, place in ((False, "direct"), (True, "wire")):
                for program in ("ib_send_bw", "ib_write_bw"):
                    take = functools.partial(taking.one, host, listed(program, length, wire), 8)
                    taken.append(Cell(f"{program}, {place}", length, host, take))
        yield Question("rate", "Messages of 8 bytes", "work requests in a post (perftest -l)", "M/s", taken, theirs[0].name,
                       log=True, note="UCX has no lists: its figure is the same for all lengths, taken again.")

    def qps(self):
        taken = []
        for site, wire, place in self._paths():
            for count in (1, 1000) if self.quick else QP_COUNTS:
                for contender in many_queue_pairs(count, wire):
                    take = functools.partial(taking.one, site, contender, BLOCK)
                    taken.append(Cell(f"{contender.name}, {place}", count, site, take))
        yield Question("qps", "64 KiB writes by the number of queue pairs", "queue pairs", "GB/s", taken, rounds=1,
                       note="ib_write_bw gives each queue pair memory of its own; write_rate spreads all over the same 64 MiB.")

    def processes(self):
        taken = []
        for pairs in (1, 4) if self.quick else PAIRS:
            for site, wire, place in self._paths():
                wanted = [(Perftest("ib_write_bw", wire), place)]
                if not wire:
                    wanted.append((Iperf3(), self.places.tcp(site)))
                if place == "direct":
                    wanted += [(Perftest("ib_send_bw"), place), (Machine("process_vm_writev"), ""), (Ucx("tag_bw", POSIX), "")]
                for contender, where in wanted:
                    take = functools.partial(taking.together, site, contender, BLOCK, pairs)
                    taken.append(Cell(f"{contender.name}, {where}" if where else contender.name, pairs, site, take))
        yield Question("processes", "64 KiB messages by the number of pairs of processes", "pairs of processes", "GB/s", taken,
                       rounds=1, note="The sum over all pairs.")

    def _costs(self):
        """Contenders of which every message can be counted: (site, [(contender, place)])."""
        if self.places.host:
            wanted = [(Ucx("tag_bw", POSIX), ""), (Ucx("tag_bw", "tcp"), ""), (Iperf3(blocks_of_size=True), "loopback")]
            for program in ("ib_write_bw", "ib_send_bw"):
                wanted += [(Perftest(program), "direct"), (Perftest(program, wire=True), "wire")]
            yield self.places.host, wanted
        for site in self._first_veth:
            yield site, [(Perftest("ib_write_bw"), site.name), (Iperf3(blocks_of_size=True), site.name)]

    def cpu(self):
        taken = []
        for site, wanted in self._costs():
            if site is self.places.host:
                wanted = [(Machine("memcpy"), ""), (Machine("process_vm_writev"), ""), *wanted]
            taken += cells(site, wanted, (BLOCK,) if self.quick else (4096, BLOCK, 1 << 20), taking.cpu)
        yield Question("cpu", "CPU seconds for each GiB", BY_SIZE, "s/GiB", taken, log=True, rounds=1,
                       note="User and system time of both ends, spinning included, starting and connecting not.")

    def calls(self, counter):
        def take(site, contender, size):
            if not counter.tool:
                raise NotInstalled("perf or strace", counter.PACKAGE)
            return counter.calls(site, contender, size)
        taken = []
        for site, wanted in self._costs():
            taken += cells(site, wanted, (8, BLOCK) if self.quick else (8, 4096, BLOCK, 1 << 20), take)
        for site, wire, place in self._paths():
            taken += cells(site, [(Perftest("ib_send_lat", wire), place)], (8,), take)
        yield Question("calls", "System calls for each message", BY_SIZE, "calls", taken, log=True, floor=0.01, rounds=1,
                       note=f"Of both ends, counted by {counter.tool} in runs apart. Who polls a socket calls while it waits.")

    def connections(self):
        taken = []
        for site, wire, _ in self._paths():
            for count in (1000,) if self.quick else (1000, 10000):
                if not wire:
                    take = functools.partial(taking.connections, site, count)
                    taken.append(Cell(f"cmtime connect, {self.places.tcp(site)}", count, site, take))
        yield Question("connections", "Connections a second", "connections asked for at once", "1/s", taken, rounds=1)

    def memory(self):
        for site in [self.places.host, *self.places.veths][:1]:
            if site:
                take = functools.partial(taking.queue_pair_memory, site)
                taken = [Cell("a QP (128+128 WRs), of 1000", None, site, take)]
                yield Question("memory", "Resident memory", "", "bytes", taken, rounds=1)

    def fabric(self):
        host, take = self.places.host, functools.partial(taking.through_switches, RING)
        for program, size, unit, what in (("ib_send_lat", 8, "us", "Latency"), ("ib_write_bw", BLOCK, "GB/s", "Bandwidth")):
            taken = [Cell(f"{program}, {size} B", switches, host, functools.partial(
                take, host, PerftestOnFabric(program, f"host{2 * switches}", "host1"), size))
                     for switches in range(1, MOST_SWITCHES + 1) if host]
            yield Question(f"fabric-{unit[:2].lower()}", f"{what} in an emulated InfiniBand fabric", "switches on the way", unit, taken)

    def _paths(self):
        """(site, whether packets are forced, name)"""
        if self.places.host:
            yield self.places.host, False, "direct"
            yield self.places.host, True, "wire"
        for site in self.places.veths:
            yield site, False, site.name


def listed(program, length, wire=False):
    """perftest with lists of work requests: the queue holds several, and receives are posted in lists too."""
    options = ["-t", str(max(128, 4 * length)), *(["-l", str(length)] if length > 1 else [])]
    if program == "ib_send_bw":
        options += ["-r", str(max(512, 4 * length)), *(["--recv_post_list", str(length)] if length > 1 else [])]
    contender = Perftest(program, wire, "M/s", options)
    contender.most_messages = 300_000 // length * length
    return contender


def many_writes(kind, count, wire):
    """`ib_write_bw` of this kind through so many queue pairs, each with memory of its own."""
    perftest = kind("ib_write_bw", wire=wire, options=["-t", "8" if count > 1 else "128", "-q", str(count)])
    perftest.most_bytes //= count  # its count is one for each queue pair
    return perftest


def many_queue_pairs(count, wire):
    """Two programs that write through so many queue pairs: each with memory of its own, and all over the same."""
    perftest = many_writes(Perftest, count, wire)
    return perftest, Own("write_rate", ["--qps", str(count), "--memory", str(1000 * 65536)], wire)
