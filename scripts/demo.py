"""The talking part of scripts/demo: demo.py BUILD-FOLDER [--quick]."""
import os
import pathlib
import re
import shutil
import stat
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/interop"), str(ROOT / "tests/copy")]
import lab as lab_module  # noqa: E402
import measure  # noqa: E402
import scene as scene_module  # noqa: E402

MODES = {
    "root": "You are root, so the hosts are real network namespaces; the programs run as user nobody.",
    "user": "You are not root: the hosts live in a user namespace; the programs run without any capability.",
    "plain": "This system allows no network namespaces: two processes of this host do instead.",
}


def title(text):
    print(f"\n== {text}", flush=True)


def show(command, output, pattern):
    """The command as a person would type it, and the lines that matter."""
    print(f"$ {command}")
    for line in output.splitlines():
        if re.search(pattern, line):
            print("    " + line.strip())


def show_hosts(hosts):
    title("4. What the hosts see: ibv_devinfo, as Debian ships it")
    for host in hosts:
        status, output = host.run(["ibv_devinfo", "-v"])
        if status != 0:
            raise measure.Failed(f"ibv_devinfo ended with status {status}", output)
        show(f"[{host.name}] LD_LIBRARY_PATH=lib/softrnic ibv_devinfo -v", output, r"hca_id|state:|active_mtu|link_layer|GID\[")


def measurements(seconds):
    """(what, program and options, function(server, client) → text)"""
    def bandwidth(*argv):
        return lambda s, c: f"{measure.perftest_bandwidth(s, c, *argv, timeout=seconds + 60):8.2f} GB/s"

    def latency(*argv):
        return lambda s, c: f"{measure.perftest_latency(s, c, *argv):8.1f} us"

    def pingpong(*argv):
        return lambda s, c: "{:8.2f} GB/s, {:.1f} us an exchange".format(*measure.pingpong(s, c, *argv))

    duration = ("-D", str(seconds))
    return (
        ("messages to and fro, 4 KiB", "ibv_rc_pingpong", pingpong("ibv_rc_pingpong")),
        ("write into remote memory, 64 KiB", "ib_write_bw", bandwidth("ib_write_bw", "-s", "65536", *duration)),
        ("write into remote memory, 1 MiB", "ib_write_bw -s 1048576", bandwidth("ib_write_bw", "-s", "1048576", *duration)),
        ("read remote memory, 64 KiB", "ib_read_bw", bandwidth("ib_read_bw", "-s", "65536", *duration)),
        ("small message, one way", "ib_send_lat", latency("ib_send_lat", "-n", "5000")),
        ("for comparison: one TCP stream", "iperf3", lambda s, c: f"{measure.iperf3(s, c, seconds):8.2f} GB/s"),
        ("for comparison: small TCP message, one way", "qperf tcp_lat",
         lambda s, c: f"{measure.qperf_latency(s, c, 'tcp_lat', seconds):8.1f} us"),
    )


def largest_file(folder):
    """The largest file below `folder` that anybody may read."""
    best, size = None, -1
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            info = os.lstat(path)
            if stat.S_ISREG(info.st_mode) and info.st_mode & stat.S_IROTH and info.st_size > size:
                best, size = path, info.st_size
    return best, size


def timed(host, argv):
    """(seconds, output) of a program that has to end well."""
    begin = time.monotonic()
    status, output = host.run(argv, timeout=120)
    if status != 0:
        raise measure.Failed(f"{argv[0]} ended with status {status}", output)
    return time.monotonic() - begin, output


def rsync_beside(scene, path):
    """Seconds that rsync takes with a daemon at the other end; or why it cannot be had."""
    if not shutil.which("rsync"):
        return "not installed"
    mode = scene.server_host.lab.mode
    if mode == "user":  # it takes itself for root there, and wants rights that only the real one has
        return "its daemon does not run in a user namespace"
    conf = scene.folder / "rsyncd.conf"
    # Root's daemon becomes nobody, for which root of a container may lack the right.
    me = f"uid = {os.geteuid()}\ngid = {os.getegid()}\n" if mode == "plain" else ""
    conf.write_text(f"port = 8873\nuse chroot = no\nlog file = /dev/null\n{me}[root]\npath = {scene.root}\nread only = no\n")
    scene.give(conf)
    daemon = scene.server_host.start(["rsync", "--daemon", "--no-detach", "--config", conf])
    try:
        if not daemon.wait_for_listener(8873):
            raise measure.Failed("rsync --daemon does not listen", daemon.output())
        return timed(scene.client_host, ["rsync", "-W", path, f"rsync://{scene.server_host.address[4]}:8873/root/by-rsync"])[0]
    finally:
        daemon.end()


def copy_a_file(lab, server, client):
    title("6. A file from host to host: softrnic cp")
    path, size = largest_file("/usr/lib")
    with scene_module.Scene(lab, server, client) as scene:
        scene.serve("-q", scene.root)
        where = f"{server.address[4]}:"
        def copied(*options):
            return timed(client, ["softrnic", "cp", *options, "--port", scene.port, "--token-file", scene.token_file, path, where])

        source = pathlib.Path(path).read_bytes()  # so that it lies in the page cache for whoever comes first
        output = copied("--progress")[1]
        print(f"$ softrnic cp {path} {where}\n    {re.split(chr(13) + chr(27) + '.K', output)[-1].strip()}")
        copy = scene.root / os.path.basename(path)
        same = copy.read_bytes() == source
        print(f"    every chunk checked by XXH3-128; compared with the source here: {'the same' if same else 'DIFFERENT'}")
        ways = {"softrnic cp, with checksums": lambda: copied()[0],
                "softrnic cp --verify, and read back": lambda: copied("--verify")[0],
                "rsync, daemon at the other end": lambda: rsync_beside(scene, path)}
        turns = [[way() for way in ways.values()] for _ in range(2)]  # who comes first writes to memory that nobody has had
        for name, taken in zip(ways, map(min, *turns)):
            print(f"    {name:<40} " + (taken if isinstance(taken, str) else f"{size / taken / 1e9:6.2f} GB/s, the better of two"))
        if not same:
            raise measure.Failed("the copy differs from its source", "")


def demonstrate(lab, seconds):
    place, server, client = next(lab.places(["pair"] if lab.pair else ["loopback"]))
    title("3. Two hosts" if place == "pair" else "3. Two processes on one host")
    print(MODES[lab.mode])
    if place == "pair":
        print(f"Host a ({server.address[4]}) and host b ({client.address[4]}), joined by a veth pair of MTU {server.mtu}.")
    show_hosts([server, client] if place == "pair" else [server])
    title("5. Unmodified programs move data over RoCEv2 between them")
    rows = []
    for what, program, run in measurements(seconds):
        print(f"   {program} …", flush=True)
        rows.append((what, program, run(server, client)))
    title(f"Results ({'between two hosts, ' if place == 'pair' else ''}ordinary user, no adapter, no kernel module)")
    for what, program, result in rows:
        print(f"{what:<44} {program:<24} {result}")
    copy_a_file(lab, server, client)
    print("\nYour own program: build/product/bin/softrnic run -- PROGRAM ARGUMENTS")


def main():
    mode = lab_module.enter()
    seconds = 1 if "--quick" in sys.argv else 3
    with lab_module.Lab(mode, sys.argv[1]) as lab:
        demonstrate(lab, seconds)


if __name__ == "__main__":
    try:
        main()
    except scene_module.Failed as failure:
        sys.exit(f"FAILED: {failure}")
    except measure.Failed as failure:
        print(failure.report)
        sys.exit(f"FAILED: {failure}")
    except KeyboardInterrupt:
        sys.exit("\ninterrupted; everything that was started has been ended")
