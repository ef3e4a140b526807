"""Programs that connect through rdma_cm: rdmacm-utils, perftest -R, qperf -cm1, fio. One table, as in cases.py."""
import pathlib
import shutil
import subprocess

from cases import PERFTEST, QPERF, Case

RPING, UCMATOSE, UDADDY, RDMA_SERVER, CMTIME, TUTORIAL = 7174, 7471, 7174, 7471, 7471, 7200
RSTREAM, RCOPY_PORT, UDPONG, IPERF = 7471, 7427, 7174, 5201
FIO = 7200
GROUPS = {4: "239.77.0.7", 6: "ff15::7707"}


def _rping(*options, server=(), family=4, many=0, name="", **more):
    address = ["-a", "{server}" if family == 4 else "{server6}"]
    client = ["rping", "-c", *address, *options]
    if many:  # one after another: rping's server mixes up requests that come at the same moment
        client = ["sh", "-c", "for i in $(seq %d); do %s || exit 1; done" % (many, " ".join(client))]
    shown = name or " ".join(["rping", *options]) + (" (IPv6)" if family == 6 else "")
    return Case("rdmacm-rping", shown, client, ["rping", "-s", *(["-a", "::"] if family == 6 else []), *(server or options)],
                cm_port=RPING, **more)


def _rpings():
    for family in (4, 6):
        yield _rping("-v", "-V", "-C", "1000", "-S", "65535", family=family, expect=(r"ping data: rdma-ping-999",))
        yield _rping("-v", "-V", "-C", "10", "-S", "100", family=family, smoke=True, expect=(r"ping data: rdma-ping-9",))
        yield _rping("-q", "-V", "-C", "100", server=("-q",), family=family, smoke=family == 4, wire=True)
        yield _rping("-V", "-C", "20", server=("-P",), family=family, many=8, ends_alone=False, smoke=family == 4,
                     name=f"rping, a persistent server and 8 clients (IPv{family})")


def _cmtimes(family, to, six, tail):
    """cmtime was written anew for rdma-core 51: its server ends alone and knows IPv4 only, and it connects under QPNs that it
    makes up, which on one host have to be others on each side. Since 59 its peers meet at a TCP port, and are as many as asked."""
    usage = subprocess.run(["cmtime", "-h"], capture_output=True, text=True, check=False).stdout if shutil.which("cmtime") else ""
    new, meets = "base_qpn" in usage, "controller_address" in usage
    if new and family == 6:
        return
    for count in ("1000", "10000"):
        client, server, ready = ["-s", to], six, {"cm_port": CMTIME}
        if meets:
            client, server, ready = ["-C", to, "-b", "0.0.0.0"], ["-L", "-C", to, "-b", to], {"port": CMTIME}
        yield Case("rdmacm-utilities", f"cmtime -c {count}" + tail,
                   ["cmtime", *client, "-c", count, *(["-q", "500000"] if new else [])],
                   ["cmtime", *server, "-c", count], **ready, ends_alone=new, timeout=120,
                   expect=(r"(?i)\bconnecting\n\s*disconnecting\n", r"\n(cm )?connect[\s:]+\d"), smoke=count == "1000" and family == 4)


def _utilities():
    for family, to in ((4, "{server}"), (6, "{server6}")):
        six = ["-b", "::"] if family == 6 else []
        tail = " (IPv6)" if family == 6 else ""
        for options in ([], ["-c", "100"], ["-m"], ["-C", "0"]):
            yield Case("rdmacm-utilities", " ".join(["ucmatose", *options]) + tail, ["ucmatose", "-s", to, *options],
                       ["ucmatose", *six, *options], cm_port=UCMATOSE, expect=(r"test complete\s+return status 0",),
                       smoke=options == ["-c", "100"] and family == 4, wire=True)
        for options in ([], ["-c", "20"]):
            yield Case("rdmacm-utilities", " ".join(["udaddy", *options]) + tail, ["udaddy", "-s", to, *options],
                       ["udaddy", *six, *options], cm_port=UDADDY,
                       expect=(r"test complete\s+return status 0",), smoke=not options and family == 4, wire=True)
        yield Case("rdmacm-utilities", "rdma_server, rdma_client" + tail, ["rdma_client", "-s", to],
                   ["rdma_server", *(["-s", "::"] if family == 6 else [])],
                   cm_port=RDMA_SERVER, expect=(r"rdma_client: end 0",), smoke=family == 4)
        if family == 4:  # they have no option for the server's address
            for kind in ("r", "x"):
                yield Case("rdmacm-utilities", f"rdma_xserver, rdma_xclient -c {kind}", ["rdma_xclient", "-s", to, "-c", kind],
                           ["rdma_xserver", "-c", kind], cm_port=RDMA_SERVER, expect=(r"rdma_xclient: end 0",), smoke=kind == "x",
                           wire=True)
        yield from _cmtimes(family, to, six, tail)
        gid = "::ffff:{server}" if family == 4 else "{server6}"
        for options in (["-f", "gid"], ["-f", "gid", "-P", "ib"]):
            yield Case("rdmacm-utilities", " ".join(["ucmatose", *options]) + tail, ["ucmatose", "-s", gid, *options],
                       ["ucmatose", *six, *options], cm_port=UCMATOSE, expect=(r"test complete\s+return status 0",),
                       smoke="-P" in options and family == 6)
        yield Case("rdmacm-utilities", "udaddy -f gid" + tail, ["udaddy", "-s", gid, "-f", "gid"], ["udaddy", *six, "-f", "gid"],
                   cm_port=UDADDY, expect=(r"test complete\s+return status 0",), smoke=family == 4)
        mine = "{self}" if family == 4 else "{self6}"
        yield Case("rdmacm-utilities", "mckey" + tail, ["mckey", "-m", GROUPS[family], "-b", mine, "-s"],
                   ["stdbuf", "-oL", "mckey", "-m", GROUPS[family], "-b", mine], ready=r"receiving data transfers",
                   expect=(r"test complete\s+return status 0",), smoke=family == 4, wire=True,
                   only_on="" if family == 4 else "pair")  # a loopback device has no route to an IPv6 group
    # A sender whose queue pair hears nothing of itself (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB).
    yield Case("rdmacm-utilities", "mckey -l", ["mckey", "-l", "-m", GROUPS[4], "-b", "{self}", "-s"],
               ["stdbuf", "-oL", "mckey", "-l", "-m", GROUPS[4], "-b", "{self}"], ready=r"receiving data transfers",
               expect=(r"test complete\s+return status 0",), wire=True)


# Debian's perftest connects to IPv4 addresses only. Perftest and qperf tell the client to connect before the server listens.
def _perftests():
    for program in ("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat",
                    "ib_atomic_bw", "ib_atomic_lat"):
        yield perftest(program, smoke=program in ("ib_send_lat", "ib_read_bw"))
    for program in ("ib_send_bw", "ib_send_lat"):
        yield perftest(program, "-c", "UD", "-s", "1024", smoke=program == "ib_send_bw")
    yield perftest("ib_write_bw", "-q", "8")


def perftest(program, *options, smoke=False):
    argv = [program, "-R", "-F", "-n", "500", *options]
    return Case("rdmacm-perftest", " ".join([program, "-R", *options]), [*argv, "{server}"], argv,
                cm_port=PERFTEST, expect=(r"#bytes.*\n\s*\d+\s+\d+",), smoke=smoke, wire=program == "ib_send_bw")


def _qperfs():
    for test in ("rc_bw", "rc_lat", "ud_bw", "rc_rdma_read_bw"):
        yield Case("rdmacm-qperf", f"qperf -cm1 {test}", ["qperf", "{server}", "-cm1", "-t", "1", test], ["qperf"], port=QPERF,
                   timeout=60, mtu=9000, expect=(rf"{test}:\n(.*\n)?\s+\w+\s+=\s+[1-9]",), ends_alone=False,
                   smoke=test in ("rc_bw", "ud_bw"), wire=test == "ud_bw")


def _fios():
    """fio's rdma engine connects with rnr_retry_count 0: a SEND that meets no receive ends it. Its server has as many receives as the
    client has sends under way, and posts them again when it comes to that: the credits of the AETH keep the client from running
    ahead. SENDs come in the order in which the server reads, so it can check each block."""
    for verb, block, depth, blocks in (("send", 4096, 32, 10000), ("send", 65536, 8, 1000), ("send", 512, 1, 1000), ("send", 1 << 20, 2, 100),
                                       ("write", 65536, 32, 1000), ("write", 512, 1, 1000), ("read", 65536, 32, 1000),
                                       ("read", 1 << 20, 4, 100)):
        # A job as a thread: so the process that was started is the one that listens.
        job = ["fio", "--name=job", "--thread", "--ioengine=rdma", f"--port={FIO}", f"--bs={block}", f"--iodepth={depth}",
               f"--size={block * blocks}", "--eta=never", *(["--verify=crc32c", "--verify_state_save=0"] if verb == "send" else [])]
        yield Case("rdmacm-fio", f"fio verb={verb} bs={block} iodepth={depth}",
                   [*job, "--hostname={server}", f"--verb={verb}", "--rw=write", "--do_verify=0"], [*job, "--rw=read"], cm_port=FIO,
                   expect=(r"err= 0", rf"issued rwts: total=0,{blocks},0,0"), smoke=block == 65536, wire=verb == "send")


def _link_local():
    to = "{serverlink}"
    for program in ("ucmatose", "udaddy"):
        for tail in ((), ("-f", "gid")):
            yield Case("rdmacm-utilities", f"{program}, link-local {' '.join(tail)}", [program, "-s", to, *tail],
                       [program, "-b", "::", *tail], cm_port=UCMATOSE if program == "ucmatose" else UDADDY, only_on="pair",
                       expect=(r"test complete\s+return status 0",), smoke=not tail)
    for at in ("::", to):
        yield Case("rdmacm-rping", f"rping, link-local, server at {at}", ["rping", "-c", "-a", to, "-V", "-C", "10"],
                   ["rping", "-s", "-a", at, "-C", "10"], cm_port=RPING, only_on="pair", smoke=at == to)


def _tutorials():
    port = str(TUTORIAL)
    for family, to in ((4, "{server}"), (6, "{server6}")):
        tail = " (IPv6)" if family == 6 else ""
        program = ["{build}/tests/interop/descriptors", port]
        yield Case("rdmacm-tutorials", "descriptors" + tail, [*program, to], program, cm_port=TUTORIAL, smoke=True, wire=family == 4,
                   expect=(r"300000 bytes are equal",))
        program = ["{build}/tests/interop/chunks", port, "4", "5"]
        yield Case("rdmacm-tutorials", "chunks, 4 clients" + tail, [*program, to], program, cm_port=TUTORIAL, smoke=family == 4,
                   timeout=120, expect=(r"4 clients done",))


RATE = r"\d+(\.\d+)?[kmg]?\s+[\d.]+s\s+[\d.]+\s+[\d.]+"


# Programs of rsocket(7), and programs of TCP that Debian's librspreload.so turns into such.
def _rsockets():
    for family, to in ((4, "{server}"), (6, "{server6}")):
        tail = " (IPv6)" if family == 6 else ""
        server = ["rstream", *(["-b", "::"] if family == 6 else [])]
        for options in (["-I", "100", "-C", "100"], ["-T", "v", "-S", "65536", "-I", "20", "-C", "20"], ["-T", "b", "-S", "4096", "-I", "50"],
                        ["-T", "n", "-S", "4096", "-I", "50"], ["-T", "a", "-S", "4096", "-I", "50"], []):
            if family == 6 and "-T" in options:
                continue
            yield Case("rsocket", " ".join(["rstream", *options]) + tail, ["rstream", "-s", to, *options], [*server, *options],
                       cm_port=RSTREAM, expect=(RATE,), smoke="-C" in options and family == 4, wire=True, timeout=120)
    # It waits for bytes in its memory without a call. By packets, with two processors, that takes 0.1 ms and more each time, and
    # without options it does not end within minutes.
    for options, only_on in ((["-T", "v", "-S", "16384", "-I", "20", "-C", "20"], ""), (["-S", "64", "-I", "1000", "-C", "1"], ""),
                             (["-S", "1000000", "-I", "100", "-C", "1"], ""), ([], "loopback")):
        yield Case("rsocket", " ".join(["riostream", *options]), ["riostream", "-s", "{server}", *options], ["riostream", *options],
                   cm_port=RSTREAM, expect=(RATE,), smoke="-T" in options, wire=True, timeout=120, only_on=only_on)
    for family, gid in ((4, "::ffff:{server}"), (6, "{server6}")):  # AF_IB on both sides, and a listener at IP addresses
        for program, options in (("rstream", ["-T", "v", "-I", "20", "-C", "20", "-S", "65536"]),
                                 ("riostream", ["-T", "v", "-I", "20", "-C", "20", "-S", "16384"])):
            for server, bound in ((["-f", "gid", "-b", gid], "at a GID"), (["-b", "::"], "at ::")):
                yield Case("rsocket", f"{program} -f gid, server {bound} (IPv{family})",
                           [program, "-s", gid, "-f", "gid", *options], [program, *server, *options], cm_port=RSTREAM, expect=(RATE,),
                           smoke=(family, program) == (6, "rstream"), wire=True)
    # The server stays; what a packet of the path does not hold goes by UDP. Who waits for an echo asks again after 1 ms, with whatever
    # it has received last: when that was late and the right one is lost, it never ends. So few echoes, and buffers that hold them all.
    for family, to in ((4, "{server}"), (6, "{server6}")):
        tail = " (IPv6)" if family == 6 else ""
        for mode in ([], ["-T", "a"], ["-T", "b"]):
            for options in (["-T", "e", "-S", "64", "-C", "100"], ["-T", "e", "-S", "1500", "-C", "100"], ["-S", "64", "-C", "100000"],
                            ["-S", "1000", "-C", "10000"], ["-S", "2000", "-C", "1000"]):
                program = ["udpong", *mode, *options]
                yield Case("rsocket", " ".join(program) + tail, [*program, "-s", to], ["udpong", "-b", to, *mode], udp_port=UDPONG,
                           ends_alone=False, expect=(RATE,), wire=True, smoke="e" in options and "64" in options)
    yield Case("rsocket", "rcopy", ["sh", "-c", RCOPY], ["rcopy"], cm_port=RCOPY_PORT, expect=(r"the copy is equal",), ends_alone=False,
               smoke=True, wire=True)


RCOPY = """
cd $(mktemp -d)
head -c 30000000 /dev/urandom >source
rcopy source {server}:$PWD/copy
cmp source copy && echo the copy is equal
"""


def _preloaded():
    env = {"LD_PRELOAD": str(next(pathlib.Path("/usr/lib").glob("*/rsocket/librspreload.so"), "librspreload.so"))}
    for options in ([], ["-R"], ["-P", "4"]):
        yield Case("rsocket-preload", " ".join(["iperf3", *options]), ["iperf3", "-c", "{server}", "-t", "1", *options],
                   ["iperf3", "-s", "-1"], cm_port=IPERF, env=env, expect=(r"bits/sec.*receiver",), smoke=not options, wire=True)
    yield Case("rsocket-preload", "udpong -T s", ["udpong", "-T", "s", "-S", "1000", "-C", "1000", "-s", "{server}"],
               ["udpong", "-T", "s", "-b", "{server}"], udp_port=UDPONG, env=env, ends_alone=False, expect=(RATE,), smoke=True, wire=True)
    # Python's own server calls accept4, which Debian 12's librspreload.so does not know.
    yield Case("rsocket-preload", "curl, openssl s_server", ["curl", "-s", "-S", "-k", "--max-time", "30", "https://{server}:8000/c.pem"],
               ["sh", "-c", HTTPS_SERVER], cm_port=8000, env=env, expect=(r"BEGIN CERTIFICATE",), smoke=True, wire=True)


HTTPS_SERVER = """
cd $(mktemp -d)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k.pem -out c.pem -days 1 -subj /CN=rsocket 2>/dev/null
exec openssl s_server -4 -accept 8000 -cert c.pem -key k.pem -WWW -naccept 1 -quiet
"""


def all_cases():
    return [*_rpings(), *_utilities(), *_link_local(), *_tutorials(), *_perftests(), *_qperfs(), *_fios(), *_rsockets(), *_preloaded()]
