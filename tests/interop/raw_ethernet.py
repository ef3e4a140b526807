#!/usr/bin/env python3
"""perftest's raw Ethernet programs, unmodified, with CAP_NET_RAW: between two hosts over a veth, and on one host's loopback.

    raw_ethernet.py --build FOLDER [--on loopback,pair] [--match REGEX]

Exit status 77: no namespaces, or no such programs.
"""
import argparse
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import lab as lab_module  # noqa: E402

SKIPPED = 77
PORT = 18800
IPS = ("-J", "10.77.0.2", "-j", "10.77.0.1", "-K", "7000", "-k", "7001")
IPS6 = ("--raw_ipv6", "-J", "fd77::2", "-j", "fd77::1", "-K", "7000", "-k", "7001")
FIGURES = r"#bytes.*\n\s*\d+\s+\d+"
# perftest sends bursts at a rate that its own check of options allows, and counts on each send's completion.
PACED = ("--rate_limit_type", "PP", "--rate_units", "M", "--rate_limit", "10", "--burst_size", "16", "-t", "16", "-Q", "1")
# program and options → what it prints. Nothing is repeated, and a server waits for each frame: so few are sent that all fit into its
# socket, whatever else the machine does. Not raw_ethernet_lat -e: it waits for an event without having asked for one.
CASES = (
    (("raw_ethernet_bw", "-s", "64", "-n", "150"), FIGURES),
    (("raw_ethernet_bw", "-s", "1400", "-n", "150", *IPS), FIGURES),
    (("raw_ethernet_bw", "-s", "512", "-n", "150", "--tcp", *IPS), FIGURES),
    (("raw_ethernet_bw", "-s", "512", "-n", "150", *IPS6), FIGURES),
    (("raw_ethernet_bw", "-s", "512", "-n", "150", "--promiscuous"), FIGURES),
    (("raw_ethernet_bw", "-s", "512", "-n", "160", "-l", "16"), FIGURES),
    (("raw_ethernet_bw", "-s", "256", "-n", "150", "-I", "256"), FIGURES),
    (("raw_ethernet_lat", "-s", "64", "-n", "1000"), FIGURES),
    (("raw_ethernet_lat", "-s", "1024", "-n", "1000", *IPS), FIGURES),
    (("raw_ethernet_burst_lat", "-s", "64", "-n", "150", *PACED), FIGURES),
)
# Makes flows, and sends nothing.
FLOW_RATE = ("raw_ethernet_fs_rate", "-F", "-d", "soft0", "--server", "-B", "02:00:00:00:00:01", "-n", "100")
FLOW_FIGURES = r"#flows.*\n\s*100\s+[\d.]+"


def mac_of(host, netdev):
    status, output = host.run(["ip", "-o", "link", "show", netdev])
    found = re.search(r"link/\S+ ([0-9a-f:]{17})", output)
    if status != 0 or not found:
        raise SystemExit(f"no address of {netdev}\n{output}")
    return found.group(1)


def hears(program):
    """Whether a flow of it is there: its host has a packet socket of all protocols."""
    try:
        with open(f"/proc/{program.process.pid}/net/packet") as sockets:
            return any(line.split()[3] == "0003" for line in sockets.readlines()[1:])
    except (OSError, IndexError):
        return False


def run(case, expected, server, client, netdev, port):
    """None, or what went wrong."""
    # On the loopback all frames come back to their own port: the two ends tell theirs by addresses that are made up.
    alone = server is client
    macs = ("02:00:00:00:00:01", "02:00:00:00:00:02") if alone else (mac_of(server, netdev), mac_of(client, netdev))
    program, *options = case
    common = [program, "-F", "-d", "soft0", "-p", port, *options]
    first = server.start([*common, "--server", "-B", macs[0], "-E", macs[1]])
    second = None
    try:
        # The two do not talk before they send.
        if not first.wait_until(lambda: hears(first), 20):
            return f"no flow of the server\n{first.output()}"
        second = client.start([*common, "--client", "-B", macs[1], "-E", macs[0]])
        statuses = [each.wait(20) for each in (second, first)]
        outputs = [each.output() for each in (first, second)]
        if statuses == [0, 0] and re.search(expected, "\n".join(outputs)):
            return None
        return f"ended with {statuses}\n--- server\n{outputs[0]}\n--- client\n{outputs[1]}"
    finally:
        first.end()
        if second is not None:
            second.end()


def run_flow_rate(host):
    """None, or what went wrong."""
    status, output = host.run(FLOW_RATE)
    return None if status == 0 and re.search(FLOW_FIGURES, output) else f"ended with {status}\n{output}"


def outcomes(lab, places, wanted):
    """Yields (place, command, None or what went wrong) of the cases whose command is wanted."""
    for number, (case, expected) in enumerate(CASES):
        shown = " ".join(case)
        for place, server, client in lab.places(places) if wanted(shown) else ():
            netdev = "lo" if place == "loopback" else "eth0"
            yield place, shown, run(case, expected, server, client, netdev, PORT + number)
    shown = " ".join(FLOW_RATE)
    if wanted(shown):
        yield "loopback", shown, run_flow_rate(lab.lone)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--on", default="loopback,pair")
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    mode = lab_module.enter()
    if mode == "plain" or not shutil.which("raw_ethernet_bw"):
        print("skipped: no network namespaces, or no perftest")
        return SKIPPED
    failed = 0
    with lab_module.Lab(mode, options.build) as lab:
        lab.unprivileged = []
        for place, shown, wrong in outcomes(lab, options.on.split(","), re.compile(options.match).search):
            failed += wrong is not None
            print(f"{'FAILED' if wrong else 'ok'} {place:<9} {shown}{': ' + wrong if wrong else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
