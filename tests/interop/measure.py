"""Figures out of the outputs of perftest, the pingpongs, iperf3 and qperf. Bandwidth in GB/s (10^9 bytes), time in us."""
import json
import re

from session import Call, Session

PERFTEST, QPERF, IPERF, CMTIME, WRITE_RATE = 18515, 19765, 5201, 7471, 18530
MIB = 1048576


class Failed(Exception):
    """The message says what went wrong; `report` holds the outputs."""

    def __init__(self, message, report):
        super().__init__(message)
        self.report = report


def run(server_host, client_host, server, client, port, timeout=60, env=None, ends_alone=True):
    """The client's output."""
    session = Session(server_host, client_host, Call(server, client, port=port, timeout=timeout, env=env or {}, ends_alone=ends_alone))
    failure = session.run()
    if failure:
        raise Failed(f"{client[0]}: {failure}", session.report())
    return session.client.output()


def perftest_row(output):
    """The figures of the last row of a perftest table."""
    rows = re.findall(r"^\s*(\d+)((?:\s+-?(?:[\d.]+|nan))+)\s*$", output, re.M)
    if not rows:
        raise Failed("no figures in the output", output)
    return [float(word) for word in rows[-1][1].split()]


def perftest_bandwidth(server, client, program, *options, timeout=60, env=None):
    argv = [program, "-F", *options]
    output = run(server, client, argv, [*argv, "{server}"], PERFTEST, timeout, env)
    return perftest_row(output)[2] * MIB / 1e9  # iterations, peak, average


def write_rate(server, client, program, *options):
    """bench/write_rate.cc; `program` is its path."""
    argv = [program, "--port", str(WRITE_RATE), "--gid-index", "{gid4}", *options]
    return float(run(server, client, argv, [*argv, "{server}"], WRITE_RATE).split()[0])


def perftest_latency(server, client, program, *options, timeout=60, env=None):
    """The typical (median) time of one way; with -D perftest reports the average only."""
    argv = [program, "-F", *options]
    row = perftest_row(run(server, client, argv, [*argv, "{server}"], PERFTEST, timeout, env))
    return row[3] if len(row) > 4 else row[1]


def pingpong(server, client, program, *options, timeout=60):
    """(GB/s both ways together, us an exchange)"""
    argv = [program, "-g", "{gid4}", *options]
    output = run(server, client, argv, [*argv, "{server}"], PERFTEST, timeout)
    rate = re.search(r"= ([\d.]+) Mbit/sec", output)
    each = re.search(r"= ([\d.]+) usec/iter", output)
    if not rate or not each:
        raise Failed("no figures in the output", output)
    return float(rate.group(1)) / 8000, float(each.group(1))


def iperf3(server, client, seconds):
    output = run(server, client, ["iperf3", "-s", "-1"], ["iperf3", "-J", "-t", str(seconds), "-c", "{server}"], IPERF,
                 seconds + 20)
    return json.loads(output)["end"]["sum_received"]["bits_per_second"] / 8e9


def cmtime(server, client, count, timeout=120):
    """Connections a second that are established, and that come and go through all steps; `count` at once."""
    call = Call(["cmtime", "-c", str(count)], ["cmtime", "-s", "{server}", "-c", str(count)], cm_port=CMTIME, timeout=timeout,
                ends_alone=False)
    session = Session(server, client, call)
    failure = session.run()
    steps = {} if failure else dict(re.findall(r"^(\w[\w ]*?)\s*:\s+([\d.]+)", session.client.output(), re.M))
    if "connect" not in steps or re.search(r"^event: ", session.client.output(), re.M):
        raise Failed(f"cmtime: {failure or 'not all were connected'}", session.report())
    return count / float(steps["connect"]) * 1000, count / sum(map(float, steps.values())) * 1000


def qperf_latency(server, client, test, seconds, size=None):
    options = ["-uu", "-t", str(seconds)] + (["-m", str(size)] if size else [])
    output = run(server, client, ["qperf"], ["qperf", "{server}", *options, test], QPERF, seconds + 20, ends_alone=False)
    found = re.search(r"latency\s+=\s+([\d.,e+]+)\s+(\w+)", output)
    if not found:
        raise Failed("no figures in the output", output)
    return float(found.group(1).replace(",", "")) * {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6}[found.group(2)]
