#!/usr/bin/env python3
"""One daemon for all users of a host (softrnicd --system): programs of several users, of root, and in namespaces of their own as
containers have them, talk to each other through it, one after the other and all at once.

    users.py --build FOLDER

Exit status 77: not root, or no namespaces.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import lab as lab_module  # noqa: E402
import session  # noqa: E402

SKIPPED = 77
PORT = 18600
DAEMON_USER = 65534
BELIEVE = ["env", f"SOFTRNIC_SYSTEM_USER={DAEMON_USER}"]  # root is unknown in a user namespace, and shows as this


def as_user(number):
    return ["setpriv", "--reuid", str(number), "--regid", str(number), "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
            "--pdeathsig", "KILL", "--"]


POD = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
CONTAINER = ["unshare", "--user", "--map-root-user", "--", *BELIEVE]
PLACES = {
    "root": [],
    "first": as_user(1001),
    "second": as_user(1002),
    "pod of first": [*POD, *as_user(1001)],
    "container of first": [*as_user(1001), *CONTAINER],
    "container of second": [*as_user(1002), *CONTAINER],
}
PAIRS = (("first", "first"), ("first", "second"), ("root", "second"), ("pod of first", "pod of first"), ("first", "pod of first"),
         ("container of first", "second"), ("container of first", "container of second"))
PROGRAMS = {
    "ib_write_bw": (["ib_write_bw", "-x", "{gid4}", "-n", "200", "-p", "{port}"], "{server}"),
    "ib_send_bw -c UD": (["ib_send_bw", "-c", "UD", "-s", "1024", "-x", "{gid4}", "-n", "200", "-p", "{port}"], "{server}"),
}


class Place(lab_module.Host):
    """The lab's lone host as one of its users sees it."""

    def __init__(self, lone, name):
        super().__init__(lone.lab, name, None, lone.address)
        self.enter = lone.enter

    def start(self, argv, env=None):
        argv = [str(word) for word in argv]
        return lab_module.Program(self, self.enter() + PLACES[self.name] + argv, argv, self.lab.environment(env or {}))


def call(program, port):
    argv, server = PROGRAMS[program]
    argv = [word.replace("{port}", str(port)) for word in argv]
    return session.Call(argv, [*argv, server], port=port)


def one_after_the_other(places):
    failures = 0
    port = PORT
    for server, client in PAIRS:
        for program in PROGRAMS:
            port += 1
            tried = session.Session(places[server], places[client], call(program, port))
            failure = tried.run()
            print(f"{'ok' if failure is None else 'FAILED'}: {program}, server: {server}, client: {client}", flush=True)
            if failure:
                failures += 1
                print(failure, tried.report())
    return failures


def all_at_once(places):
    """Each user sends to himself; all three pairs are under way at the same time."""
    names = ("first", "second", "root")
    servers, clients = [], []
    try:
        for i, name in enumerate(names):
            argv = ["ib_write_bw", "-D", "2", "-x", places[name].gid_index(4), "-p", PORT + 500 + i]
            servers.append(places[name].start(argv))
            if not servers[-1].wait_for_listener(PORT + 500 + i):
                print(f"FAILED: the server of {name} does not listen\n{servers[-1].output()}")
                return 1
        for i, name in enumerate(names):
            argv = ["ib_write_bw", "-D", "2", "-x", places[name].gid_index(4), "-p", PORT + 500 + i, "127.0.0.1"]
            clients.append(places[name].start(argv))
        failures = 0
        for name, client in zip(names, clients):
            status = client.wait(60)
            print(f"{'ok' if status == 0 else 'FAILED'}: at the same time: {name}", flush=True)
            if status != 0:
                failures += 1
                print(client.output())
        return failures
    finally:
        for program in clients + servers:
            program.end()


def sees(place, pid):
    _, shown = place.run(["softrnic", "--json", "resource", "show", "qp"])
    return any(row["pid"] == pid for row in json.loads(shown))


def own_view(places):
    """Each user sees the device, and of the queue pairs only his own; root is told why it sees none."""
    holder = places["first"].start(["ibv_rc_pingpong", "-g", places["first"].gid_index(4), "-p", PORT + 600])
    try:
        if not holder.wait_until(lambda: sees(places["first"], holder.process.pid)):
            print(f"FAILED: the first user does not see his own queue pair\n{holder.output()}")
            return 1
        if sees(places["second"], holder.process.pid) or "soft0" not in places["second"].run(["ibv_devices"])[1]:
            print("FAILED: what the second user sees")
            return 1
        _, told = places["root"].run(["softrnic", "resource", "show", "qp"])
        if "shows no programs to one that has capabilities" not in told:
            print(f"FAILED: root is told: {told}")
            return 1
        print("ok: each sees his own", flush=True)
        return 0
    finally:
        holder.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", required=True)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: only root can become three users")
        return SKIPPED
    if lab_module.enter() != "root":
        print("skipped: no network namespaces")
        return SKIPPED
    if subprocess.run([*as_user(1001), *CONTAINER, "true"], check=False).returncode != 0:
        print("skipped: users may not make user namespaces here")
        return SKIPPED
    with lab_module.Lab("root", options.build) as lab:
        daemon = subprocess.Popen([*lab.lone.enter(), lab.build / "bin/softrnicd", "--system", "--user", str(DAEMON_USER)],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            if "ready" not in daemon.stderr.readline():
                print("FAILED: the daemon is not ready")
                return 1
            places = {name: Place(lab.lone, name) for name in PLACES}
            return min(one_after_the_other(places) + all_at_once(places) + own_view(places), 1)
        finally:
            daemon.terminate()
            daemon.wait()


sys.exit(main())
