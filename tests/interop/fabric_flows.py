"""Cases of fabric.py: many flows at once, on slow links."""
import contextlib
import os
import signal
import statistics
import tempfile
import time

from fabric_lab import PATIENCE, Fabric, expect, write_file


@contextlib.contextmanager
def writers(fabric, flows, seconds, *options):
    """ib_write_bw of many clients at once, (client, server, more options) each, while the block runs; seconds None: and no longer.
    Each reports every message and waits long for its acknowledgement, as links are slow."""
    running = []
    duration = ["--run_infinitely"] if seconds is None else ["-D", seconds]
    try:
        for client, server, more in flows:
            fabric.port += 1
            argv = ["ib_write_bw", "-F", *duration, "-Q", "1", "-u", "20", *options, *more, "-p", fabric.port]
            running.append(fabric.start(server, argv))
            fabric.wait_for_listener()
            running.append((client, argv))
        running = [fabric.start(row[0], [*row[1], "127.0.0.1"]) if isinstance(row, tuple) else row for row in running]
        yield
        for program in running:
            if seconds is None:
                expect(program.poll() is None, "ib_write_bw goes on", program.returncode)
                continue
            output, _ = program.communicate(timeout=PATIENCE)
            expect(program.returncode == 0, "ib_write_bw failed", output)
    finally:
        for program in running:
            if not isinstance(program, tuple) and program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()


def full_seconds(fabric, wanted):
    """The rates of host1 over those of host2 in so many seconds in which hardly anything of the link from leaf1 to spine1 was
    left. The fabric itself measures them, at one time and over the same second."""
    found, end = [], time.monotonic() + PATIENCE
    while len(found) < wanted:
        expect(time.monotonic() < end, "the link is full for some seconds", str(found))
        time.sleep(1)
        leaf = next(row for row in fabric.nodes() if row["name"] == "leaf1")
        ours, theirs = (next(row.get("load", {}).get("in", 0) for row in leaf["ports"] if row["port"] == port) for port in (1, 2))
        if ours + theirs > 0.95:
            found.append(ours / max(theirs, 0.001))
    return found


def arbitration(build):
    """Two flows on SL 0 and 1 share a link 3:1 by its arbitration tables; the others wait, and nothing is lost."""
    with tempfile.TemporaryDirectory() as folder:
        config = write_file(folder, "qos.conf", ["qos TRUE", "qos_max_vls 2", "qos_sl2vl 0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0",
                                                 "qos_high_limit 255", "qos_vlarb_high 0:192,1:64", "qos_vlarb_low 0:1,1:1"])
        with Fabric(build, "--config", config, "--scale", "0.0001") as fabric:
            flows = [("host1", "host3", ("-S", "0")), ("host2", "host4", ("-S", "1"))]
            with writers(fabric, flows, None, "-m", "1024", "-s", "4096", "-t", "64"):
                # What a sender that was not on the processor leaves, the other one takes: seconds count in which the link was full.
                full = full_seconds(fabric, 5)
            ratio = statistics.median(full)
            print("        SL 0 to SL 1: " + ", ".join(f"{share:.2f}" for share in full))
            expect(2.7 <= ratio <= 3.3, f"SL 0 has {ratio:.2f} times the rate of SL 1, not 3")
            expect(fabric.counters("host2", 1)["xmit_wait_ns"] > 10**9, "host2 waits for credits")
            expect(fabric.counters("leaf1", 3)["xmit_discards"] == 0, "no discards")


def incast(build):
    """Eight hosts write to one: all arrives without a packet thrown away anywhere."""
    with Fabric(build, "star:9", "--scale", "0.01") as fabric:
        flows = [(f"host{number}", "host9", ()) for number in range(1, 9)]
        with writers(fabric, flows, 3, "-s", "16384", "-t", "16"):
            pass
        ports = [port["counters"] for node in fabric.nodes() for port in node["ports"] if "counters" in port]
        lost = sum(port["xmit_discards"] + port["rcv_errors"] for port in ports)
        waited = sum(fabric.counters(f"host{number}", 1)["xmit_wait_ns"] for number in range(1, 9)) / 1e9
        print(f"        {lost} discards; the eight waited for {waited:.1f} s in all")
        expect(lost == 0, f"{lost} packets were lost in incast")
        expect(waited > 1, "who sends waits for credits")
