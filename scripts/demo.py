"""What scripts/demo does once python3 is there: demo.py [BUILD-FOLDER] [--quick]. With a folder it builds nothing."""
import argparse
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/interop"), str(ROOT / "tests/copy")]
import demo_build  # noqa: E402
import demo_needs  # noqa: E402
import lab as lab_module  # noqa: E402
import measure  # noqa: E402
import scene as scene_module  # noqa: E402

LOG = ROOT / "build/demo.log"
LARGEST = 256 << 20  # bytes of a file that is copied


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
        for wanted in (r"hca_id:\s+soft0", r"state:\s+PORT_ACTIVE", rf"GID\[.*{re.escape(host.address[4])}"):
            if not re.search(wanted, output):
                raise measure.Failed(f"ibv_devinfo on host {host.name} shows nothing like {wanted}", output)


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
    """The largest file below `folder` that anybody may read, of those that a demo has the time and the room for."""
    best, size = None, -1
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            info = os.lstat(path)
            if stat.S_ISREG(info.st_mode) and info.st_mode & stat.S_IROTH and size < info.st_size <= LARGEST:
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
    # User 0 of a namespace takes itself for root, and wants rights that only the real one has: then it is given another number.
    renamed = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if mode == "user" else []
    conf = scene.folder / "rsyncd.conf"
    # Root's daemon becomes nobody, for which root of a container may lack the right; nobody else's changes its user.
    me = "uid = 0\ngid = 0\n" if mode == "plain" and os.geteuid() == 0 else ""
    conf.write_text(f"port = 8873\nuse chroot = no\nlog file = /dev/null\n{me}[root]\npath = {scene.root}\nread only = no\n")
    scene.give(conf)
    daemon = scene.server_host.start([*renamed, "rsync", "--daemon", "--no-detach", "--config", conf])
    try:
        if not daemon.wait_for_listener(8873):
            raise measure.Failed("rsync --daemon does not listen", daemon.output())
        return timed(scene.client_host, ["rsync", "-W", path, f"rsync://{scene.server_host.address[4]}:8873/root/by-rsync"])[0]
    except measure.Failed as failure:  # what the demo is about went well
        return f"not to be had here: {(failure.report.strip().splitlines() or [failure])[0]}"
    finally:
        daemon.end()


def copy_a_file(lab, server, client):
    """The bytes of it."""
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
        return size


def check_way(place, server, moved):
    """That what was shown went between the hosts: `moved` bytes by the netdev that joins them."""
    if place != "pair":
        return
    counted = sum(server.traffic("eth0"))
    if counted < moved:
        raise measure.Failed(f"only {counted} bytes went by the netdev that joins the hosts, where {moved} had to", "")
    print(f"\nChecked: both hosts have an active port, each program ended well, the copy is the same, and {counted / 1e9:.1f} GB "
          "went by the cable.")


def demonstrate(lab, seconds, folder):
    place, server, client = next(lab.places(["pair"] if lab.pair else ["loopback"]))
    title("3. Two hosts" if place == "pair" else "3. Two processes on one host")
    if place == "pair":
        print(f"Host a ({server.address[4]}) and host b ({client.address[4]}), joined by a veth pair of MTU {server.mtu}.")
    else:
        print("They reach each other by shared memory, as programs of one host do.")
    show_hosts([server, client] if place == "pair" else [server])
    title("5. Unmodified programs move data between them" + (", over RoCEv2" if place == "pair" else ""))
    rows = []
    for what, program, run in measurements(seconds):
        print(f"   {program} …", flush=True)
        rows.append((what, program, run(server, client)))
    title(f"Results ({'between two hosts, ' if place == 'pair' else ''}ordinary user, no adapter, no kernel module)")
    for what, program, result in rows:
        print(f"{what:<44} {program:<24} {result}")
    check_way(place, server, copy_a_file(lab, server, client))
    print(f"\nYour own program: {shown_folder(folder)}/bin/softrnic run -- PROGRAM ARGUMENTS")


def shown_folder(folder):
    """As one types it in the folder of the sources."""
    return folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder


def build():
    """The folder that has been built."""
    title("2. The product: a drop-in libibverbs.so.1, the daemon softrnicd, the command softrnic")
    environment = demo_needs.compiler_cache()
    if environment:
        print("ccache has no folder that you may write, so it is not used (CCACHE_DIR names one)")
    LOG.parent.mkdir(exist_ok=True)
    with open(LOG, "wb") as log:
        took = demo_build.Build(environment, log).run()
    print(f"built in build/product in {demo_build.duration(took)}" if took else "all is built, in build/product")
    print("the rest of the product, emulated InfiniBand fabrics and manual pages, if you want them: scripts/build product")
    return ROOT / "build" / demo_build.PRESET


def prepare(options):
    """What is asked and built before the namespaces are entered. The folder."""
    mode, _, refusal = lab_module.find_mode()
    demo_needs.programs(demo_needs.RUN if options.folder else {**demo_needs.RUN, **demo_needs.BUILD})
    demo_needs.temporary_folder()
    if options.folder:
        demo_needs.built(options.folder)
    else:
        demo_needs.folder_to_build_in(ROOT / "build" / demo_build.PRESET)
    print("\n".join(["programs and room on the disk: all is there", *demo_needs.describe(mode, refusal)]), flush=True)
    if not options.folder:
        return build()
    print(f"built already: {options.folder}")
    return options.folder


def explained(failure):
    """A sentence, and what more is to be seen of it."""
    if isinstance(failure, (demo_build.Failed, scene_module.Failed)):
        return str(failure)
    if isinstance(failure, measure.Failed):
        return f"{failure.report.strip()}\n{failure}".strip()
    if isinstance(failure, subprocess.CalledProcessError):
        said = failure.stderr or b""
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        return f"{' '.join(map(str, failure.cmd))} ended with status {failure.returncode} {said.strip()}".strip()
    if isinstance(failure, OSError):
        return f"{failure.filename or 'the system'}: {failure.strerror or failure}"
    return f"{type(failure).__name__}: {failure}"


def keep_traceback():
    """Writes it where it can be asked for. The file's name."""
    try:
        file = open(LOG, "a")
    except OSError:  # another user's sources
        file = tempfile.NamedTemporaryFile("w", prefix="softrnic-demo-", suffix=".log", delete=False)
    with file:
        traceback.print_exc(file=file)
    return file.name


def run(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=lambda name: pathlib.Path(name).resolve(), help="builds nothing, takes this")
    parser.add_argument("--quick", action="store_true", help="measures for one second each")
    options = parser.parse_args(arguments)
    if not lab_module.entered():
        folder = prepare(options)
        sys.argv[1:] = [str(folder), *(["--quick"] if options.quick else [])]
    mode = lab_module.enter()
    with lab_module.Lab(mode, sys.argv[1]) as lab:
        demonstrate(lab, 1 if options.quick else 3, pathlib.Path(sys.argv[1]))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM, with everything that was started"))
    try:
        run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\ninterrupted; everything that was started has been ended")
    except demo_needs.Lack as lack:
        sys.exit(f"demo: {lack}")
    except Exception as failure:  # pylint: disable=broad-except
        sys.exit(f"FAILED: {explained(failure)}\nThe details, if you report this: {keep_traceback()}")


if __name__ == "__main__":
    main()
