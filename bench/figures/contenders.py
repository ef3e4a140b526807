"""Who is measured: each contender as the two programs that run it and the way its figure is read out of their output.

A contender knows one test (a program, a path, a quantity); size and number of messages come with each call. Quantities are
GB/s (10^9 bytes a second), us (one way; a whole exchange for READ and atomics) and M/s (10^6 messages a second).
"""
import dataclasses
import json
import pathlib
import re
import shutil

from measure import MIB, Failed, perftest_row
from session import Call

PORT = 18600       # of the first pair of programs; further pairs take the next ones
NO_LIBRARIES = {"LD_LIBRARY_PATH": ""}  # contenders run as the system has them, not on softrnic
WIRE = {"SOFTRNIC_PATH": "wire"}


class NotInstalled(Exception):
    """The message is the program, `package` what Debian calls what has it."""

    def __init__(self, program, package):
        super().__init__(program)
        self.program, self.package = program, package


def under(words, call, **more):
    """The same programs, run by these words."""
    return dataclasses.replace(call, server=words + call.server, client=words + call.client, **more)


class Contender:
    program = package = ""
    quantity = "GB/s"
    most_bytes = 1 << 31     # that a measurement may move,
    most_messages = 100_000  # and of how many messages it may consist

    def __init__(self, name):
        self.name = name

    def require(self):
        if not shutil.which(self.program):
            raise NotInstalled(self.program, self.package)

    def count(self, size):
        """The messages that take a fraction of a second."""
        return max(30, min(self.most_messages, self.most_bytes // size))

    def call(self, size, count=None, pair=0, seconds=None):
        """The programs of one measurement: `seconds` of it where the contender can, else `count` messages or its usual number."""
        raise NotImplementedError

    def read(self, output, size):
        raise NotImplementedError


class Machine(Contender):
    """memcpy, process_vm_writev and the way of a cache line: bench/memory_rate.cc."""
    most_messages = 1 << 40

    def __init__(self, what, quantity="GB/s"):
        super().__init__({"cache_line": "one cache line between two processors"}.get(what, what))
        self._what, self.quantity = what, quantity

    def require(self):
        pass

    def call(self, size, count=None, pair=0, seconds=None):
        # No usual number: how many fit into a time differs by powers of ten.
        amount = ["--count", str(count)] if count and seconds is None else ["--seconds", str(seconds or 0.2)]
        kind = ["--latency"] if self.quantity == "us" else []
        return Call([], ["{build}/tests/interop/memory_rate", self._what, "--size", str(size), *amount, *kind])

    def read(self, output, size):
        return float(output.split()[0])


class Perftest(Contender):
    """An unmodified program of perftest on softrnic; `wire` forces packets between processes of one host."""
    package = "perftest"

    def __init__(self, program, wire=False, quantity=None, options=(), note=""):
        super().__init__(program + note)
        self.program = program
        self.quantity = quantity or ("us" if program.endswith("_lat") else "GB/s")
        self._env = WIRE if wire else {}
        self._options = list(options)
        if self.quantity == "us":
            self.most_bytes, self.most_messages = 1 << 28, 10_000
        if wire:
            self.most_bytes //= 2

    def call(self, size, count=None, pair=0, seconds=None):
        amount = ["-n", str(count or self.count(size))] if seconds is None else ["-D", str(int(seconds))]
        length = [] if "atomic" in self.program else ["-s", str(size)]
        peak = [] if self.quantity == "us" else ["-N"]
        port = PORT + pair
        argv = [self.program, "-F", "-p", str(port), *length, *amount, *peak, *self._options]
        return Call(argv, [*argv, "{server}"], port=port, env=self._env)

    def read(self, output, size):
        row = perftest_row(output)
        if self.quantity == "us":
            return row[3] if len(row) > 4 else row[1]
        return row[3] if self.quantity == "M/s" else row[2] * MIB / 1e9


class PerftestOnIwarp(Perftest):
    """The same on an iWARP device; `crc`: one that asks for CRCs. `wire` forces TCP between processes of one host."""

    def __init__(self, program, crc=False, wire=False, options=()):
        super().__init__(program, wire, options=("-R", *options), note=", CRC" if crc else "")
        self._below = ["softrnic", "run", "--iwarp", *(["--crc"] if crc else []), "--no-sysfs", "--"]

    def call(self, size, count=None, pair=0, seconds=None):
        call = super().call(size, count, pair, seconds)
        return under(self._below, call, port=0, cm_port=call.port)


class PerftestOnFabric(Perftest):
    """The same between two hosts of an emulated InfiniBand fabric, which is up while it is measured (taking.through_switches)."""

    def __init__(self, program, server, client):
        super().__init__(program)
        self._server, self._client = ([*"softrnic run --no-sysfs --host".split(), host, "--"] for host in (server, client))

    def call(self, size, count=None, pair=0, seconds=None):
        call = super().call(size, count, pair, seconds)
        return dataclasses.replace(call, server=self._server + call.server, client=self._client + call.client)


class Own(Contender):
    """bench/write_rate.cc and bench/write_latency.cc: plain verbs where perftest cannot choose the memory."""

    def __init__(self, program, options=(), wire=False, note=""):
        super().__init__(program + note)
        self.program, self._options, self._env = program, list(options), WIRE if wire else {}
        if program == "write_latency":
            self.quantity, self.most_bytes, self.most_messages = "us", 1 << 28, 20_000

    def require(self):
        pass

    def call(self, size, count=None, pair=0, seconds=None):
        amount = ["--count", str(count or self.count(size))] if seconds is None else []
        port = PORT + pair
        argv = ["{build}/tests/interop/" + self.program, "--port", str(port), "--gid-index", "{gid4}", "--size", str(size),
                *amount, *self._options, str(seconds or 1)]
        return Call(argv, [*argv, "{server}"], port=port, env=self._env)

    def read(self, output, size):
        return float(output.split()[0])


class Ucx(Contender):
    program, package = "ucx_perftest", "ucx-utils"

    def __init__(self, test, transports, quantity=None):
        super().__init__(f"UCX {test}, {transports.replace(',', '+')}")
        self._test, self._transports = test, transports
        self.quantity = quantity or ("us" if test.endswith("lat") else "GB/s")
        self.most_messages = 1_000_000
        if transports == "tcp":
            self.most_bytes, self.most_messages = 1 << 29, 50_000
        if self.quantity == "us":
            self.most_bytes, self.most_messages = 1 << 28, 20_000 if transports == "tcp" else 100_000

    def call(self, size, count=None, pair=0, seconds=None):
        port = PORT + pair
        env = {"UCX_TLS": self._transports + ",self", "UCX_WARN_UNUSED_ENV_VARS": "n", **NO_LIBRARIES}
        count = count or self.count(size)
        warm = max(1, min(1000, count // 10))
        return Call([self.program, "-p", str(port)], [self.program, "-p", str(port), "{server}", "-t", self._test, "-s", str(size),
                    "-n", str(count), "-w", str(warm), "-f"], port=port, env=env)

    def read(self, output, size):
        rows = re.findall(r"^\s*\d+((?:\s+[\d.]+){7})\s*$", output, re.M)
        if not rows:
            raise Failed("no figures in the output", output)
        row = [float(word) for word in rows[-1].split()]
        return {"us": row[0], "GB/s": row[4] * MIB / 1e9, "M/s": row[6] / 1e6}[self.quantity]


class UcxOnDevice(Ucx):
    """UCX on softrnic, whose device it looks for in /sys and /dev: what a library that people use costs above the verbs."""

    def __init__(self, test, transport="rc_v", wire=False, quantity=None, rendezvous=False):
        super().__init__(test, transport, quantity)
        self._env = {"UCX_NET_DEVICES": "soft0:1", **(WIRE if wire else {})}
        if rendezvous:  # by itself UCX copies 64 KiB through its own buffers, in pieces of 8 KiB
            self._env["UCX_RNDV_THRESH"] = "16k"
            self.name += ", rendezvous from 16 KiB on"
        if self.quantity == "us":
            self.most_messages = 10_000
        if wire:
            self.most_bytes //= 2

    def call(self, size, count=None, pair=0, seconds=None):
        call = super().call(size, count, pair, seconds)
        env = {name: value for name, value in call.env.items() if name not in NO_LIBRARIES}
        return under(["softrnic", "run", "--"], call, env={**env, **self._env})


class Libfabric(Contender):
    program, package, quantity = "fi_pingpong", "libfabric-bin", "us"
    most_bytes, most_messages = 1 << 28, 20_000

    def __init__(self, provider):
        super().__init__(f"fi_pingpong, {provider}")
        self._endpoint = ["-p", provider, "-e", "rdm" if provider == "shm" else "msg"]

    def call(self, size, count=None, pair=0, seconds=None):
        port = str(PORT + pair)
        argv = [self.program, *self._endpoint, "-I", str(count or self.count(size)), "-S", str(size)]
        return Call([*argv, "-B", port], [*argv, "-P", port, "{server}"], port=PORT + pair, env=NO_LIBRARIES)

    def read(self, output, size):
        rows = re.findall(r"^\s*\d+[kmg]?\s+\d+\S*\s+=\S+\s+\S+\s+\S+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s*$", output, re.M)
        if not rows:
            raise Failed("no figures in the output", output)
        return float(rows[-1])


class Iperf3(Contender):
    """One TCP stream, written in blocks of the message size or, as by default, of 128 KiB whatever that is."""
    program = package = "iperf3"
    LONGEST_BLOCK, USUAL_BLOCK = 1 << 20, 1 << 17

    def __init__(self, blocks_of_size=False):
        super().__init__("iperf3")
        self._blocks_of_size = blocks_of_size

    def call(self, size, count=None, pair=0, seconds=None):
        port = PORT + pair
        block = min(size, self.LONGEST_BLOCK) if self._blocks_of_size else self.USUAL_BLOCK
        amount = ["-k", str(count or self.count(block))] if seconds is None else ["-t", str(int(seconds))]
        return Call([self.program, "-s", "-1", "-p", str(port)], [self.program, "-J", "-p", str(port), *amount,
                    "-l", str(block), "-c", "{server}"], port=port, env=NO_LIBRARIES)

    def read(self, output, size):
        return json.loads(output)["end"]["sum_received"]["bits_per_second"] / 8e9


class Qperf(Contender):
    program = package = "qperf"

    def __init__(self, test):
        super().__init__(f"qperf {test}")
        self._test, self.quantity = test, "us" if test.endswith("lat") else "GB/s"

    def call(self, size, count=None, pair=0, seconds=None):
        port = str(PORT + pair)
        return Call([self.program, "-lp", port], [self.program, "{server}", "-lp", port, "-uu", "-t", str(int(seconds or 1)),
                    "-m", str(size), self._test], port=PORT + pair, env=NO_LIBRARIES, ends_alone=False)

    UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6, "bytes/sec": 1e-9, "KB/sec": 1e-6, "MB/sec": 1e-3, "GB/sec": 1}

    def read(self, output, size):
        found = re.search(r"(?:latency|bw)\s+=\s+([\d.,e+]+)\s+(\S+)", output)
        if not found or found.group(2) not in self.UNITS:
            raise Failed("no figures in the output", output)
        return float(found.group(1).replace(",", "")) * self.UNITS[found.group(2)]


def own_programs(build):
    """The programs of ours that are not built."""
    names = ("memory_rate", "write_rate", "write_latency", "qp_memory")
    return [name for name in names if not pathlib.Path(build, "tests/interop", name).exists()]
