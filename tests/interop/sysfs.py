#!/usr/bin/env python3
"""What programs find under /sys and /dev below `softrnic run`: ibstatus, ibstat, UCX, libfabric and
scripts that read counters.

    sysfs.py --build FOLDER [--on loopback,pair] [--match REGEX]

Each case runs as an ordinary user; as root the mounts are tried as well. Exit status 77: no case can run here.
"""
import argparse
import functools
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import lab as lab_module  # noqa: E402
import ucx  # noqa: E402

SKIPPED = 77
PORT = 18700
CLASS = "/sys/class/infiniband"
DATA = f"{CLASS}/soft0/ports/1/counters/port_xmit_data"
DIRECT = f"{CLASS}/soft0/ports/1/hw_counters/direct_bytes"
# With --every, each test of ucx_perftest; those of UCT are told device, transport, and how the data goes. (But for its swap,
# which is no operation of verbs.)
UCT_TESTS = {"am_lat": 8, "am_bw": 960, "put_lat": 8, "put_bw": 2048, "get": 8, "add_lat": 8, "add_mr": 8, "fadd": 8, "cswap": 8}
UCT_BY_COPY = {"am_bw", "put_bw", "get"}
MORE_UCX_TESTS = {"tag_sync_lat": 8, "tag_sync_bw": 65536, "ucp_add": 8, "ucp_swap": 8, "ucp_cswap": 8, "stream_lat": 64,
                  "ucp_am_bw": 65536}
NOT_OF_UD = {"ucp_fadd", "ucp_add", "ucp_swap", "ucp_cswap"}  # it has no atomics, and UCX emulates them by messages
UCT_OF_UD = {"am_lat", "am_bw"}
UCX_TESTS = {"tag_lat": 8, "tag_bw": 65536, "ucp_put_lat": 8, "ucp_put_bw": 65536, "ucp_get": 4096, "ucp_fadd": 8, "ucp_am_lat": 64,
             "stream_bw": 4096}


class Failure(Exception):
    """What was expected, and what came instead."""


def expect(condition, what, output):
    if not condition:
        raise Failure(f"{what}\n{output}")


def below(way, *argv):
    return ["softrnic", "run", "--sysfs", way, "--", *argv]


def output_of(host, argv, env=None):
    status, output = host.run(argv, env, timeout=60)
    expect(status == 0, f"{argv} ended with {status}", output)
    return output


def ibstatus(host, way):
    output = output_of(host, below(way, "ibstatus"))
    for wanted in (r"Infiniband device 'soft0' port 1 status", r"default gid:\s+([0-9a-f]{4}:){7}[0-9a-f]{4}\n",
                   r"state:\s+4: ACTIVE", r"phys state:\s+5: LinkUp", r"rate:\s+100 Gb/sec \(4X EDR\)", r"link_layer:\s+Ethernet"):
        expect(re.search(wanted, output), f"no {wanted}", output)


def ibstat(host, way):
    output = output_of(host, below(way, "ibstat"))
    for wanted in (r"CA 'soft0'", r"Number of ports: 1", r"State: Active", r"Link layer: Ethernet"):
        expect(re.search(wanted, output), f"no {wanted}", output)


def same_as_verbs(host, way):
    """The files say what ibv_query_device and ibv_query_port say."""
    shown = output_of(host, below(way, "ibv_devinfo", "-v"))
    script = f"cd {CLASS}/soft0; cat node_guid ports/1/lid ports/1/gids/0"
    guid, lid, gid = output_of(host, below(way, "sh", "-c", script)).split()
    expect(f"node_guid:\t\t\t{guid}" in shown, f"node_guid {guid}", shown)
    expect(re.search(rf"port_lid:\s+{int(lid, 16)}\n", shown), f"lid {lid}", shown)
    first = re.search(r"GID\[\s*0\]:\s+([0-9a-fA-F:.]+)", shown).group(1)
    expect(lab_module.ipaddress.IPv6Address(first) == lab_module.ipaddress.IPv6Address(gid), f"gid {gid}", shown)


def relative_paths(host, way):
    """From a folder of devices programs go on by relative paths, and what they find there is as new."""
    script = f"cd {CLASS} && for i in *; do cat $i/ports/1/state; [ -d $i/ports ] && echo folder; done; cd soft0/ports/1 && cat rate"
    expect(output_of(host, below(way, "sh", "-c", script)).startswith("4: ACTIVE\nfolder\n"), "not ACTIVE", script)


def device_files(host, way):
    script = "for i in /dev/infiniband/uverbs*; do test -c $i && test -r $i && test -w $i && echo $i; done"
    expect("/dev/infiniband/uverbs" in output_of(host, below(way, "sh", "-c", script)), "no device file", script)


def listing(host, way):
    python = ("import glob, os; print(os.listdir('/sys/class/infiniband/soft0/device/net')[0],"
              " *glob.glob('/sys/class/infiniband/*/node_guid'), os.path.realpath('/sys/class/infiniband/soft0'))")
    words = output_of(host, below(way, "/usr/bin/python3", "-c", python)).split()
    expect(len(words) == 3 and words[1:] == [f"{CLASS}/soft0/node_guid", f"{CLASS}/soft0"], "other names", words)
    expect(words[0] in output_of(host, ["ls", "/sys/class/net"]), "no such netdev", words)


def rest_is_as_it_was(host, way):
    """What else is under /sys and /dev, the user, the folder and the exit status stay what they are."""
    script = "ls /sys/class | grep -v infiniband; ls /dev | grep -v infiniband; id -u; pwd; exit 7"
    status, with_files = host.run(below(way, "sh", "-c", script))
    _, without = host.run(["softrnic", "run", "--no-sysfs", "--", "sh", "-c", script])
    expect(status == 7 and with_files == without, f"status {status}", f"{with_files}\n-- without:\n{without}")


def write_bw(host, way, port, env=None, messages=500):
    argv = below(way, "ib_write_bw", "-n", messages, "-s", "65536", "-x", host.gid_index(4), "-p", port)
    server = host.start(argv, env)
    expect(server.wait_for_listener(port), "the server does not listen", server.output())
    client = host.start([*argv, host.address[4]], env)
    ended = client.wait(60), server.wait(60)
    outputs = client.output() + server.output()
    client.end()
    server.end()
    expect(ended == (0, 0), f"ib_write_bw ended with {ended}", outputs)


def counters_follow(host, way):
    read = below(way, "cat", DATA)
    before = int(output_of(host, read))
    # programs in user namespaces of their own show nothing to others
    write_bw(host, "preload", PORT, {"SOFTRNIC_PATH": "wire"})
    after = int(output_of(host, read))
    expect((after - before) * 4 >= 500 * 65536, "counted too little", f"{before} … {after}")


def direct_path_stays(host, way):
    """Programs that find their files by the library still go straight into each other's memory. Until the daemon has told them
    of each other, which it does late on a busy machine, they go by packets."""
    read = below(way, "cat", DIRECT)
    before = int(output_of(host, read))
    write_bw(host, way, PORT + 1, messages=10000)
    after = int(output_of(host, read))
    expect(after - before >= 400 * 65536, "too little went direct", f"{before} … {after}\n{output_of(host, ['softrnic', 'stat'])}")


def state_follows(host, way):
    if not host.enter():
        return  # this very host: its netdev stays as it is
    program = host.start(below(way, "sh", "-c", f"while cat {CLASS}/soft0/ports/1/state; do sleep 0.05; done"))
    try:
        expect(program.wait_for_output("4: ACTIVE"), "not ACTIVE", program.output())
        host.configure("ip", "link", "set", "lo", "down")
        down = program.wait_for_output("1: DOWN")
        host.configure("ip", "link", "set", "lo", "up")
        expect(down, "not DOWN", program.output())
    finally:
        program.end()


def switched_off(host, _):
    status, output = host.run(["softrnic", "run", "--no-sysfs", "--", "cat", f"{CLASS}/soft0/node_guid"])
    expect(status == 1 and "No such file" in output, f"status {status}", output)


def no_namespaces(host, _):
    """Where the kernel allows none, mounts that were asked for are refused with a word."""
    inner = "echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- softrnic run "
    forbidden = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", inner + '"$@"', "sh"]
    status, output = host.run([*forbidden, "--sysfs", "namespace", "--", "true"])
    expect(status == 125 and "no devices under /sys" in output, f"status {status}", output)
    output = output_of(host, [*forbidden, "--", "cat", f"{CLASS}/soft0/node_type"])
    expect(output == "1: CA\n", "the library is not the way", output)


def ucx_finds_the_device(host, way):
    output = output_of(host, below(way, "ucx_info", "-d"))
    for wanted in ("rc_verbs", "ud_verbs", "soft0:1"):
        expect(wanted in output, f"no {wanted}", output)


@functools.cache
def ucx_without_mpi():
    """What tells an ucx_perftest that could be started by mpirun that it was not."""
    shown = subprocess.run(["ucx_perftest", "-h"], capture_output=True, text=True, check=False).stdout
    return ["-P", "0"] if re.search(r"^ +-P <0\|1>", shown, re.M) else []


def ucx_tests(transport, every):
    """Pairs of test and size."""
    wanted = {**UCX_TESTS, **(MORE_UCX_TESTS if every else {})}
    yield from ((test, size) for test, size in wanted.items() if transport == "rc_v" or test not in NOT_OF_UD)
    if every:
        yield from ((test, size) for test, size in UCT_TESTS.items() if transport == "rc_v" or test in UCT_OF_UD)


def ucx_pair(server_host, client_host, transport, test, size, port):
    env = {"UCX_TLS": f"{transport},self", "UCX_NET_DEVICES": "soft0:1"}
    argv = below("auto", "ucx_perftest", *ucx_without_mpi(), "-p", port)
    server = server_host.start(argv, env)
    expect(server.wait_for_listener(port), "the server does not listen", server.output())
    way = ["-d", "soft0:1", "-x", transport.replace("_v", "_verbs")] if test in UCT_TESTS else []
    way += ["-D", "bcopy"] if test in UCT_BY_COPY else []
    client = client_host.start([*argv, "-t", test, "-s", size, "-n", "500", "-w", "50", *way, server_host.address[4]], env)
    ended = client.wait(60), server.wait(60)
    outputs = client.output() + server.output()
    client.end()
    server.end()
    expect(ended == (0, 0) and re.search(r"Final:\s+500", outputs), f"ended with {ended}", outputs)


def libfabric_pair(server_host, client_host, provider, endpoint):
    argv = below("auto", "fi_pingpong", "-p", provider, "-e", endpoint, "-I", "100", "-S", "4096", "-c")  # -c: data is checked
    server = server_host.start(argv)
    expect(server.wait_for_listener(47592), "the server does not listen", server.output())
    client = client_host.start([*argv, server_host.address[4]])
    ended = client.wait(60), server.wait(60)
    outputs = client.output() + server.output()
    client.end()
    server.end()
    expect(ended == (0, 0) and "=100" in outputs, f"ended with {ended}", outputs)


ONE_HOST = (ibstatus, ibstat, same_as_verbs, relative_paths, device_files, listing, rest_is_as_it_was, counters_follow,
            state_follows, ucx_finds_the_device)
NEEDS = {ibstatus: lambda: shutil.which("ibstatus"), ibstat: lambda: shutil.which("ibstat"),
         listing: lambda: shutil.which("/usr/bin/python3"), ucx_finds_the_device: lambda: not ucx.lacks()}


def cases(lab, places, every):
    if ucx.lacks():
        print(f"skipped: UCX {ucx.lacks()}", flush=True)
    for way in ("preload", "namespace") if "loopback" in places else ():
        for case in ONE_HOST:
            if case not in NEEDS or NEEDS[case]():
                yield f"{case.__name__} {way}", lambda case=case, way=way: case(lab.lone, way)
    if "loopback" in places:
        for case in (direct_path_stays, switched_off, no_namespaces):
            yield case.__name__, lambda case=case: case(lab.lone, "preload")
    port = PORT + 10
    for place, server, client in lab.places(places) if not ucx.lacks() and shutil.which("ucx_perftest") else ():
        for transport in ("rc_v", "ud_v"):
            for test, size in ucx_tests(transport, every):
                port += 1
                yield f"ucx {place} {transport} {test}", lambda args=(server, client, transport, test, size, port): ucx_pair(*args)
    # libfabric does not look at loopback netdevs
    for _, server, client in lab.places([p for p in places if p == "pair"]) if shutil.which("fi_pingpong") else ():
        for provider, endpoint in (("verbs", "msg"), ("verbs;ofi_rxm", "rdm")):
            yield f"libfabric pair {provider}", lambda args=(server, client, provider, endpoint): libfabric_pair(*args)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--on", default="loopback,pair")
    parser.add_argument("--match", default="")
    parser.add_argument("--every", action="store_true", help="every test of ucx_perftest")
    options = parser.parse_args()
    mode = lab_module.enter()
    if mode == "plain":
        print("skipped: no network namespaces")
        return SKIPPED
    failures = 0
    with lab_module.Lab(mode, options.build) as lab:
        for name, case in cases(lab, options.on.split(","), options.every):
            if not re.search(options.match, name):
                continue
            try:
                case()
                print(f"ok: {name}", flush=True)
            except Failure as failure:
                failures += 1
                print(f"FAILED: {name}: {failure}", flush=True)
    return min(failures, 1)


sys.exit(main())
