"""The cases of rdma_cm on a device of iWARP, which the first program makes. `rping -q` moves its queue pair itself, which is not
possible there."""
import dataclasses

import rdmacm_cases

ALL_SIZES, EVENTS, MANY = ("-a", "-n", "50"), ("-e",), ("-q", "16")
MODIFIED = {"ib_send_bw": (ALL_SIZES, EVENTS, MANY), "ib_write_bw": (ALL_SIZES, MANY), "ib_read_bw": (ALL_SIZES, EVENTS, MANY),
            "ib_send_lat": (ALL_SIZES, EVENTS), "ib_write_lat": (ALL_SIZES,), "ib_read_lat": (ALL_SIZES,)}
CHOSEN = ("rping -v -V -C 10 -S 100", "ucmatose", "ucmatose -c 100", "rdma_server, rdma_client", "rdma_xserver, rdma_xclient -c r",
          "cmtime -c 1000", "cmtime -c 10000",
          *(f"ib_{what} -R" for what in ("send_bw", "send_lat", "write_bw", "write_lat", "read_bw", "read_lat")),
          "qperf -cm1 rc_bw", "qperf -cm1 rc_lat", "qperf -cm1 rc_rdma_read_bw",
          "rstream -I 100 -C 100", "rstream -T v -S 65536 -I 20 -C 20", "riostream -T v -S 16384 -I 20 -C 20", "rcopy",
          "iperf3", "iperf3 -R", "iperf3 -P 4")
SMOKE = ("rping -v -V -C 10 -S 100", "ucmatose", "rdma_server, rdma_client", "cmtime -c 1000", "ib_send_bw -R", "ib_write_bw -R",
         "ib_read_lat -R", "rstream -T v -S 65536 -I 20 -C 20", "rcopy")


def on_iwarp(argv, env):
    """`env` is that of the program alone: a preloaded library is not for `softrnic run`."""
    return ["softrnic", "run", "--iwarp", "--no-sysfs", "--", "env", *(f"{name}={value}" for name, value in env.items()), *argv]


def _chosen():
    yield from (case for case in rdmacm_cases.all_cases() if case.name.replace(" (IPv6)", "") in CHOSEN)
    for program, modifications in MODIFIED.items():
        for options in modifications:
            yield rdmacm_cases.perftest(program, *options)


def all_cases():
    for case in _chosen():
        yield dataclasses.replace(case, group="iwarp", name=f"{case.name} on iWARP", client=on_iwarp(case.client, case.env),
                                  server=on_iwarp(case.server, case.env), env={}, smoke=case.name in SMOKE, wire=True)
