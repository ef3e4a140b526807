"""How a figure is taken: one pair of programs, several at the same time, CPU seconds, system calls. Everything started is ended."""
import contextlib
import dataclasses
import json
import re
import resource
import shutil
import time

import measure
from session import Session

GIB = 1 << 30


@dataclasses.dataclass
class Site:
    """Where two programs meet. `mtu` of the veth pair; 0: both on one host."""
    name: str
    server: object
    client: object
    mtu: int = 0

    def prepare(self):
        """Starts the daemons, so that no measured program has to."""
        for host in {id(h): h for h in (self.server, self.client)}.values():
            host.run(["ibv_devinfo"])


def _output(site, call, timeout):
    session = Session(site.server, site.client, dataclasses.replace(call, timeout=timeout))
    failure = session.run()
    if failure:
        raise measure.Failed(f"{call.client[0]}: {failure}", session.report())
    return session.client.output()


def one(site, contender, size, timeout=40):
    """The contender's figure at this size."""
    contender.require()
    return contender.read(_output(site, contender.call(size), timeout), size)


class Pair(Session):
    """A session that is taken step by step, so that several overlap."""

    def start(self):
        """Starts the server and waits until it is ready; None when it is."""
        argv = self._fill(self._call.server, self.server_host)
        if argv:
            self.server = self.server_host.start(argv, self._call.env)
            return self._wait_for_server()
        return None

    def go(self):
        self.client = self.client_host.start(self._fill(self._call.client, self.client_host), self._call.env)

    def finish(self):
        """Waits for the client; None when it ended well."""
        status = self.client.wait(self._call.timeout)
        return None if status == 0 else f"the client ended with status {status}"

    def end(self):
        for program in (self.client, self.server):
            if program:
                program.end()


def _judge(contender, session, failure):
    if failure:
        raise measure.Failed(f"{contender.name}: {failure}", session.report())


def together(site, contender, size, pairs):
    """The sum over pairs of programs that run at the same time."""
    contender.require()
    # perftest counts the middle half of its time: that of all pairs has to overlap though they begin one after the other.
    seconds = 2 + pairs // 4
    sessions = []
    try:
        for pair in range(pairs):
            call = contender.call(size, max(64, seconds * 8 * GIB // size // pairs), pair, seconds)
            sessions.append(Pair(site.server, site.client, dataclasses.replace(call, timeout=90)))
            _judge(contender, sessions[-1], sessions[-1].start())
        for session in sessions:
            session.go()
        for session in sessions:
            _judge(contender, session, session.finish())
        return sum(contender.read(session.client.output(), size) for session in sessions)
    finally:
        for session in sessions:
            session.end()


@contextlib.contextmanager
def neighbour(site):
    """A process that has the adapter open, memory registered and a queue pair, and does nothing."""
    argv = [str(site.server.lab.build / "tests/interop/write_rate"), "--port", "18599", "1"]
    program = site.server.start(argv)
    try:
        if not program.wait_for_listener(18599):
            raise measure.Failed("the idle neighbour does not listen", program.output())
        yield
    finally:
        program.end()


def beside_neighbour(site, contender, size):
    with neighbour(site):
        return one(site, contender, size)


@contextlib.contextmanager
def fabric(site, topology):
    """An emulated InfiniBand fabric, whose ports are active."""
    def command(*words):
        status, output = site.server.run(["softrnic", "fabric", *words])
        if status != 0:
            raise measure.Failed(f"softrnic fabric {words[0]}", output)
        return output

    command("up", topology)
    try:
        patience = time.monotonic() + 10
        while not all(port["state"] == "active" for node in json.loads(command("show", "--json"))["nodes"]
                      for port in node["ports"] if "peer" in port):
            if time.monotonic() > patience:
                raise measure.Failed("softrnic fabric up", "its ports are not active")
        yield
    finally:
        command("down")


def through_switches(topology, site, contender, size):
    with fabric(site, topology):
        return one(site, contender, size)


def _slope(site, contender, size, amount, most):
    """What one more message costs: (amount of a long run - of a short one) / messages; starting and connecting cancel out."""
    contender.require()
    many = max(1000, min(most, contender.count(size)))
    few = many // 5
    return max(0.0, amount(site, contender, size, many) - amount(site, contender, size, few)) / (many - few)


def cpu(site, contender, size):
    """CPU seconds a GiB, user and system, of both ends."""
    def spent(site, contender, size, count):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _output(site, contender.call(size, count), 60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _slope(site, contender, size, spent, most=1_000_000) * GIB / size


class Counter:
    """Counts system calls of programs: by perf where the system allows it, which hardly slows them; else by strace, which does."""
    PERF = ["perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "--"]
    STRACE = ["strace", "-f", "-c", "-U", "name,calls", "--"]
    PACKAGE = "strace"

    def __init__(self, lab):
        self._lab = lab
        self.tool = next((name for name, argv in (("perf", self.PERF), ("strace", self.STRACE)) if shutil.which(name) and
                          self.count(self._wrapped(argv, ["true"])) is not None), None)

    def _wrapped(self, tool, argv):
        # perf needs the lab's privileges, strace none
        before, after = (tool, []) if tool is self.PERF else ([], tool)
        ordinary = self._lab.unprivileged
        self._lab.unprivileged = before + ordinary + after
        try:
            return self._lab.lone.run(argv)[1]
        finally:
            self._lab.unprivileged = ordinary

    @staticmethod
    def count(output):
        """The number in what the tool has added to a program's output; None when there is none."""
        found = re.findall(r"^(\d+),[^,\n]*,raw_syscalls:sys_enter|^total\s+(\d+)", output, re.M)
        return int("".join(found[-1])) if found else None

    def calls(self, site, contender, size):
        """System calls a message, of both ends."""
        def made(site, contender, size, count):
            call = contender.call(size, count)
            session = Session(site.server, site.client, dataclasses.replace(call, timeout=60))
            with self._watching():
                failure = session.run()
            counts = [self.count(p.output()) for p in (session.server, session.client) if p]
            if failure or None in counts:
                raise measure.Failed(f"{call.client[0]}: {failure or 'no count of system calls'}", session.report())
            return sum(counts)
        return _slope(site, contender, size, made, most=100_000 if self.tool == "perf" else 5_000)

    @contextlib.contextmanager
    def _watching(self):
        ordinary = self._lab.unprivileged
        self._lab.unprivileged = self.PERF + ordinary if self.tool == "perf" else ordinary + self.STRACE
        try:
            yield
        finally:
            self._lab.unprivileged = ordinary


def connections(site, count):
    """Connections that are established in a second, when so many are asked for at once."""
    return measure.cmtime(site.server, site.client, count)[0]


def queue_pair_memory(site):
    status, output = site.server.run([str(site.server.lab.build / "tests/interop/qp_memory"), "1000"], timeout=60)
    if status != 0:
        raise measure.Failed("qp_memory", output)
    return float(output.split()[-1])
