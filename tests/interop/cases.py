"""The programs of the acceptance list and how they are called: one table.

Every case runs a program of Debian 12 as it is. `smoke` cases run in scripts/test, all of them in scripts/interop; between
programs of one host that is by the direct path, for the `wire` ones by packets, too.
{server}, {gid4} and {gid6} are filled in by session.py.
"""
import dataclasses
import re

PERFTEST = 18515  # TCP port on which perftest and the pingpongs exchange their addresses
QPERF = 19765
VERIFY = 18600
ALIKE_ON_WIRE = ("devices", "tsan")  # what does no I/O, and what takes too long; with faults all goes by packets anyway
FAULTS = {
    "loss": "drop=1%,seed=7",
    "duplicates": "dup=1%,seed=7",
    "reordering": "reorder=1%,seed=7",
    "corruption": "corrupt=1%,seed=7",
    "everything": "drop=1%,dup=1%,reorder=1%,corrupt=1%,seed=7",
}


@dataclasses.dataclass
class Case:
    group: str
    name: str
    client: list
    server: list = None
    port: int = PERFTEST      # TCP port that tells when the server is ready
    cm_port: int = 0          # or the port on which it listens for connections of rdma_cm
    udp_port: int = 0         # or the UDP port at which it receives
    ready: str = ""           # or what it prints then
    timeout: float = 60
    env: dict = dataclasses.field(default_factory=dict)
    expect: tuple = ()        # regular expressions that the client's output must match
    smoke: bool = False
    wire: bool = False        # of the smoke cases: also by packets within one host
    mtu: int = 1500           # of the netdev, where there is a veth pair
    ends_alone: bool = True
    last_words: str = ""
    only_on: str = ""         # loopback, wire or pair: the others have no such thing
    leaves: tuple = ()        # files outside our folders that the programs make and do not remove

    def belongs_on(self, place, smoke):
        if place == "wire" and (self.group in ALIKE_ON_WIRE or smoke and not self.wire):
            return False
        return self.only_on in ("", place)


def _devices():
    yield Case("devices", "ibv_devices", ["ibv_devices"], expect=(r"soft0",), smoke=True)
    yield Case("devices", "ibv_devinfo", ["ibv_devinfo"], expect=(r"PORT_ACTIVE", r"Ethernet"), smoke=True)
    yield Case("devices", "ibv_devinfo -v", ["ibv_devinfo", "-v"], expect=(r"max_qp:", r"GID\[\s*0\]"), smoke=True)
    yield Case("devices", "ibv_devinfo -l", ["ibv_devinfo", "-l"], expect=(r"soft0",))
    yield Case("devices", "ibv_devinfo -d none", ["sh", "-c", "! ibv_devinfo -d none"])
    # It watches for ever: still being there after a second is success.
    yield Case("devices", "ibv_asyncwatch",
               ["sh", "-c", "stdbuf -oL timeout -s INT 1 ibv_asyncwatch; test $? = 124"],
               expect=(r"soft0: async event FD \d+",), smoke=True)


def _pingpong(group, kind, *options, smoke=False, family=4, **more):
    program = [f"ibv_{kind}_pingpong", "-g", "{gid%d}" % family, *options]
    shown = f"ibv_{kind}_pingpong {' '.join(options)}{' (IPv6)' if family == 6 else ''}".strip()
    more.setdefault("timeout", 120 if "100000" in options else 60)
    return Case(group, shown, [*program, "{server}"], program, smoke=smoke, expect=(r"iters in [\d.]+ seconds",), **more)


def _pingpongs():
    for kind in ("rc", "uc", "srq", "ud"):
        largest = "1024" if kind == "ud" else "16777216"
        many = "20" if kind != "ud" else "1000"
        depth = "16" if kind == "srq" else "10"  # at least one receive for each of its 16 QPs
        yield _pingpong("pingpong", kind, smoke=True)
        yield _pingpong("pingpong", kind, "-e", smoke=True, wire=True)
        yield _pingpong("pingpong", kind, "-c", smoke=kind != "srq", wire=True)
        yield _pingpong("pingpong", kind, "-c", family=6, smoke=kind == "rc")
        yield _pingpong("pingpong", kind, "-s", "1", "-c")
        yield _pingpong("pingpong", kind, "-s", largest, "-n", many, "-r", depth, smoke=kind == "rc")
        yield _pingpong("pingpong", kind, "-s", largest, "-n", many, "-r", depth, "-e", "-c")
        yield _pingpong("pingpong-long", kind, "-n", "100000")
        yield _pingpong("pingpong-long", kind, "-n", "100000", "-e")
    for kind in ("rc", "uc", "srq"):
        for mtu in (256, 512, 1024, 2048, 4096):
            yield _pingpong("pingpong-mtu", kind, "-m", str(mtu), "-s", "100000", "-n", "200", "-r", "50", "-c", mtu=9000)
        for size in (2, 255, 256, 257, 1023, 1025, 65536, 1048577):
            yield _pingpong("pingpong-sizes", kind, "-s", str(size), "-n", "200", "-r", "20", "-c")
    yield _pingpong("pingpong-mtu", "ud", "-s", "4096", "-n", "200", "-c", mtu=9000)
    yield _pingpong("pingpong", "srq", "-q", "1")
    yield _pingpong("pingpong", "srq", "-q", "64", "-n", "100")


def _perftest(group, program, *options, smoke=False, timeout=60, **more):
    argv = [program, "-F", *options]
    more.setdefault("expect", (r"#bytes.*\n\s*\d+\s+\d+",))
    return Case(group, " ".join([program, *options]), [*argv, "{server}"], argv, timeout=timeout, smoke=smoke, **more)


# program → connection types, and options that it knows beyond those of all
PROGRAMS = {
    "ib_send_bw": (("RC", "UC", "UD"), "abelqrID"),
    "ib_send_lat": (("RC", "UC", "UD"), "aerID"),
    "ib_write_bw": (("RC", "UC"), "ablqID"),
    "ib_write_lat": (("RC", "UC"), "aID"),
    "ib_read_bw": (("RC",), "abelqD"),
    "ib_read_lat": (("RC",), "aeD"),
    "ib_atomic_bw": (("RC",), "belqDA"),
    "ib_atomic_lat": (("RC",), "eDA"),
}
OPTIONS = {
    "a": ("-a", "-n", "100"),
    "b": ("-b", "-n", "1000"),
    "e": ("-e", "-n", "1000"),
    "l": ("-l", "16", "-n", "1008"),
    "q": ("-q", "16", "-n", "200"),
    "r": ("-r", "64", "-n", "1000"),
    "I": ("-I", "64", "-s", "64", "-n", "1000"),
    "D": ("-D", "2", "-s", "4096"),
    "A": ("-A", "CMP_AND_SWAP", "-n", "1000"),
}


def _perftests():
    for program, (types, known) in PROGRAMS.items():
        kind = program.split("_")[1]
        for service in types:
            chosen = () if service == "RC" else ("-c", service)
            plain = ("-s", "1024") if service == "UD" else ()
            yield _perftest(f"perftest-{kind}", program, *chosen, *plain, "-n", "1000", smoke=True, wire=True)
            yield _perftest(f"perftest-{kind}", program, *chosen, *plain, "-n", "500", "--ipv6", "-x", "{gid6}")
            for letter in known:
                if not (service == "UD" and letter in "a"):
                    size = plain if letter not in "aID" or service == "UD" and letter == "D" else ()
                    options = ("-D", "2") if letter == "D" and (service == "UD" or kind == "atomic") else OPTIONS[letter]
                    yield _perftest(f"perftest-{kind}", program, *chosen, *size, *options, timeout=180,
                                    smoke=service == "RC" and letter in "Ae" and (program.endswith("bw") or program == "ib_send_lat"),
                                    wire=program in ("ib_send_bw", "ib_atomic_bw"))
            for mtu in ("256", "512", "1024", "2048", "4096") if service != "UD" and kind != "atomic" else ():
                yield _perftest("perftest-mtu", program, *chosen, "-m", mtu, "-n", "300", "-s", "65536", mtu=9000)
    yield _perftest("perftest-send", "ib_send_bw", "-c", "UD", "-a", "-n", "100")
    yield _perftest("perftest-write", "ib_write_bw", "-q", "16", "-b", "-l", "8", "-n", "200", timeout=120)
    yield _perftest("perftest-write", "ib_write_bw", "-a", "-n", "20", timeout=120, smoke=True, wire=True)
    yield _perftest("perftest-send", "ib_send_bw", "-b", "-e", "-q", "4", "-n", "200", timeout=120, smoke=True)
    yield _perftest("perftest-read", "ib_read_bw", "-o", "1", "-n", "500")
    yield _perftest("perftest-write", "ib_write_bw", "-s", "1", "-n", "2000", "-Q", "1")
    yield _perftest("perftest-write", "ib_write_bw", "--report_gbits", "-D", "10", timeout=60)


def _newer_verbs():
    """Programs by extended queue pairs and completion queues, on-demand paging and device memory, at both ends and at one."""
    ways = (("-N",), ("-t",), ("-o",), ("-o", "-P"), ("-O",), ("-O", "-P"), ("-j",), ("-N", "-t"), ("-N", "-o"), ("-N", "-j", "-t"))
    plain = ["ibv_rc_pingpong", "-g", "{gid4}", "-c"]
    for way in ways:
        for server in (way, ()):
            against = "" if server else " against a plain one"
            yield Case("newer-verbs", f"ibv_rc_pingpong -c {' '.join(way)}{against}", [*plain, *way, "{server}"], [*plain, *server],
                       expect=(r"iters in [\d.]+ seconds",), smoke=way in (("-N",), ("-N", "-j", "-t")) and not server, wire=True)
    for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_send_lat", "ib_write_lat", "ib_read_lat"):
        argv = [program, "-F", "-n", "1000"]
        for way in ("--odp", "--use_old_post_send"):
            for server in ([way], []):
                against = "" if server else " against a plain one"
                yield Case("newer-verbs", f"{program} {way}{against}", [*argv, way, "{server}"], [*argv, *server],
                           expect=(r"#bytes.*\n\s*\d+\s+\d+",), wire=True)


def _xrc():
    """One process has the target queue pairs and the SRQ of each side (see rnic/xrc_domain.h)."""
    for options in ((), ("-e",), ("-n", "2000"), ("-s", "1000000", "-n", "50")):
        program = ["ibv_xsrq_pingpong", "-g", "{gid4}", *options]
        yield Case("xrc", " ".join(["ibv_xsrq_pingpong", *options]), [*program, "{server}"], program, expect=(r"success",),
                   smoke=len(options) < 2, wire=True)
    for program in ("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_atomic_bw",
                    "ib_atomic_lat"):
        yield _perftest_xrc(program, "-n", "1000", smoke=program in ("ib_send_bw", "ib_write_bw"), wire=True)
    for options in (("-a", "-n", "100"), ("-q", "8", "-n", "200"), ("-e", "-n", "1000"), ("-b", "-n", "500")):
        yield _perftest_xrc("ib_send_bw", *options, timeout=180)
    yield _perftest("xrc", "ib_send_bw", "--use-srq", "-n", "1000")
    for program in ("ib_send_bw", "ib_write_bw"):
        yield _perftest_xrc(program, "-n", "500", env={"SOFTRNIC_FAULTS": FAULTS["everything"]}, timeout=120)


def _perftest_xrc(program, *options, **more):
    return _perftest("xrc", program, "-c", "XRC", *options, leaves=("/tmp/xrc_domain_server", "/tmp/xrc_domain_client"), **more)


def _faults():
    for fault, value in FAULTS.items():
        env = {"SOFTRNIC_FAULTS": value}
        group = f"faults-{fault}"
        # Whoever is done ends, and its last acknowledgement may have been lost: then the last send of the other fails, as it
        # would between adapters. Who ends well has sent and received all.
        ends = {"env": env, "last_words": "transport retry counter exceeded"}
        for kind in ("rc", "srq"):
            yield _pingpong(group, kind, "-c", "-n", "1000", **ends, smoke=(kind, fault) == ("rc", "everything"))
            yield _pingpong(group, kind, "-c", "-e", "-s", "65536", "-n", "200", "-r", "50", **ends)
        yield _perftest(group, "ib_write_bw", "-n", "1000", env=env, timeout=120, smoke=fault == "everything")
        yield _perftest(group, "ib_write_bw", "-a", "-n", "20", env=env, timeout=180)
        yield _perftest(group, "ib_read_bw", "-n", "500", env=env, timeout=120)
        yield _perftest(group, "ib_send_bw", "-n", "500", env=env, timeout=120)
        yield _perftest(group, "ib_atomic_bw", "-n", "500", env=env, timeout=120)
        yield _verify(group, "--messages", "200", env=env, smoke=fault == "everything")
    # UC and UD lose what the wire loses, and a pingpong then waits for ever. Duplicates and reordering they must bear:
    # UC drops what is out of sequence, UD takes all.
    yield _pingpong("faults-delay", "uc", "-c", env={"SOFTRNIC_FAULTS": "delay=100us,seed=7"})
    yield _pingpong("faults-delay", "ud", "-c", env={"SOFTRNIC_FAULTS": "delay=100us,seed=7"})
    yield _pingpong("faults-delay", "rc", "-c", env={"SOFTRNIC_FAULTS": "delay=100us,seed=7"})


def _qperf():
    for number, test in enumerate(("rc_bw", "rc_lat", "uc_bw", "uc_lat", "ud_bw", "ud_lat", "rc_rdma_read_bw",
                                   "rc_rdma_read_lat", "rc_rdma_write_bw", "rc_rdma_write_lat", "rc_rdma_write_poll_lat",
                                   "rc_compare_swap_mr", "rc_fetch_add_mr", "ver_rc_compare_swap", "ver_rc_fetch_add",
                                   "rc_bi_bw", "uc_rdma_write_bw")):
        yield Case("qperf", f"qperf {test}", ["qperf", "{server}", "-t", "1", test], ["qperf"], port=QPERF, timeout=60, mtu=9000,
                   expect=(rf"{test}:\n\s+\w+\s+=\s+[1-9]",) if not test.startswith("ver_") else (rf"{test}:",),
                   ends_alone=False, smoke=number in (0, 5, 6, 11, 13), wire=number in (5, 13))

    # qperf's own choice is path MTU 2048, more than a netdev of MTU 1500 carries.
    yield Case("qperf", "qperf -mt 1024 rc_bw", ["qperf", "{server}", "-t", "1", "-mt", "1024", "rc_bw"], ["qperf"],
               port=QPERF, timeout=60, expect=(r"rc_bw:\n\s+bw\s+=\s+[1-9]",), ends_alone=False)


def _verify(group, *options, smoke=False, family=4, **more):
    program = ["{build}/tests/interop/verify", "--gid-index", "{gid%d}" % family, "--port", str(VERIFY), *options]
    shown = " ".join(["verify", *options]) + (" (IPv6)" if family == 6 else "")
    more.setdefault("timeout", 120)
    return Case(group, shown, [*program, "{server}"], program, port=VERIFY, smoke=smoke,
                expect=(r"bytes verified, 0 wrong",), **more)


def _classic(*options, group="verify", **more):
    program = ["{build}/tests/interop/classic", "--gid-index", "{gid4}", "--port", str(VERIFY), *options]
    return Case(group, " ".join(["classic", *options]), [*program, "{server}"], program, port=VERIFY,
                expect=(r"after the WRITE: ",), **more)


def _verifies():
    yield _classic(smoke=True)
    yield _verify("verify", smoke=True, wire=True)
    yield _verify("verify", family=6)
    yield _verify("verify", "--messages", "2000", timeout=300)
    for mtu in ("256", "1024", "4096"):
        yield _verify("verify", "--mtu", mtu, mtu=9000, smoke=mtu == "4096")


def _for_tsan():
    """Few messages and none of a megabyte: of those TSan looks at every byte of sixteen slots for a minute. A long timeout: the
    first race that is suppressed stops its thread while TSan reads the symbols, for half a second on a busy machine."""
    small = ("--messages", "100", "--max-size", "70000", "--ack-timeout", "17")
    yield _classic(group="tsan")
    yield _verify("tsan", *small)
    yield _verify("tsan", *small, "--type", "rc", env={"SOFTRNIC_FAULTS": FAULTS["everything"]})


def all_cases():
    cases = [*_devices(), *_pingpongs(), *_perftests(), *_newer_verbs(), *_xrc(), *_verifies(), *_qperf(), *_faults(), *_for_tsan()]
    return cases


def groups(cases):
    return list(dict.fromkeys(case.group for case in cases))


def check(case, output):
    """None when the client's output is what the case expects, else what is missing."""
    for pattern in case.expect:
        if not re.search(pattern, output):
            return f"the client's output does not match {pattern!r}"
    return None
