"""Cases of fabric.py: programs over several switches, and while the way between them changes."""
import os
import re
import signal

from fabric_lab import Fabric, expect, retry

RIDES = "17"  # ACK timeout of a program that is to ride through what happens: 0.54 s, seven times


def path(fabric, source, target):
    """Nodes on the way, each with the port by which the way leaves the one before."""
    found = fabric.run(source, "ibtracert", fabric.lid(source), fabric.lid(target))
    return re.findall(r'^\[(\d+)\] -> .*"(.*)"$', found, re.M)


def meet(fabric, server, serve, client, call):
    """The two sides of a program that finds its peer by an address of the fabric."""
    serving = fabric.start(server, serve)
    try:
        retry(lambda: fabric.run(client, *call))
    finally:
        if serving.poll() is None:
            os.killpg(serving.pid, signal.SIGKILL)
        serving.wait()


def qperf(fabric, server, client):
    fabric.port += 1
    serving = fabric.start(server, ["qperf", "-lp", fabric.port])
    try:
        fabric.wait_for_listener()
        output = fabric.run(client, "qperf", "127.0.0.1", "-lp", fabric.port, "-t", "1", "rc_bw", "rc_lat", "uc_bw", "ud_lat",
                            "rc_rdma_read_bw")
        expect(output.count(" = ") >= 6, "qperf measures", output)
    finally:
        os.killpg(serving.pid, signal.SIGKILL)
        serving.wait()


def hops(build):
    """Programs over two and over five switches."""
    with Fabric(build, "ring:8") as fabric:
        for client, switches in (("host4", 2), ("host1", 5)):
            way = path(fabric, client, "host5")
            expect(len(way) == switches + 1, f"{switches} switches from {client} to host5", str(way))
            for argv in (["ibv_rc_pingpong"], ["ibv_ud_pingpong", "-g", "0"], ["ib_write_bw", "-F", "-n", "500"],
                         ["ib_read_lat", "-F", "-n", "200"], ["ib_send_bw", "-c", "UC", "-F", "-n", "200"]):
                fabric.pair(argv, server="host5", client=client)
            qperf(fabric, "host5", client)
            address = fabric.address("host5")
            meet(fabric, "host5", ["rping", "-s", "-a", address, "-C", "10"], client, ["rping", "-c", "-a", address, "-C", "10"])
            meet(fabric, "host5", ["ucmatose", "-b", address, "-C", "5"], client, ["ucmatose", "-s", address, "-C", "5"])
            meet(fabric, "host5", ["mckey", "-m", "239.1.2.3", "-b", address, "-C", "4"],
                 client, ["mckey", "-m", "239.1.2.3", "-b", fabric.address(client), "-s", "-C", "4"])


def reroute(build):
    """A cable on the way of five switches is pulled while programs run: the manager finds the other way around the ring,
    and nothing is lost. On a busy machine that takes it longer than the half second of perftest's retries."""
    with Fabric(build, "ring:8") as fabric:
        for program in ("ib_write_bw", "ib_send_bw", "ib_read_lat", "ib_atomic_bw"):
            argv = [program, "-F", "-D", "3", "-u", RIDES]
            way = path(fabric, "host1", "host5")
            first, port = way[0][1], way[1][0]

            def pull(first=first, port=port):
                fabric.wait_for_traffic(first, int(port))
                fabric.command("link", first, port, "down")

            fabric.pair(argv, server="host5", meanwhile=pull)
            after = path(fabric, "host1", "host5")
            expect(after != way and len(after) == 6, "the other way around the ring", f"{way}\n{after}")
            fabric.command("link", first, port, "up")
            fabric.wait_until_up()
