"""Emulated hosts for tests, benches and the demo: network namespaces joined by a veth pair, as root or as anybody.

A Lab has three hosts: `a` and `b`, joined by a veth pair, and `lone`, which has a loopback device and nothing else. `wire` is
`lone` once more, for programs that are to reach each other by packets although they share a host.
Namespaces have no names and vanish with the last process in them. Programs run without any privilege: as user nobody
when we are root, without capabilities inside a user namespace otherwise. Where the system allows no namespaces there
is only `lone`, which then is this very host with its own addresses (lab_mode.py).

Every program is ended by its process id, and so is what it leaves behind (daemons): the lab is the reaper of orphans.
"""
import copy
import ctypes
import ipaddress
import json
import os
import pathlib
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from lab_mode import enter, entered, find_mode, named  # noqa: F401: a lab's users call them

NOBODY = "65534"
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 60  # seconds for what nobody would take so long for, but on a machine that others load


def _works(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def make_as_nice(pid):
    """Where Linux shares processors out by sessions (autogroups, sched(7)), a session of its own counts as much as ours, with all
    that runs in it, if ours is as nice as any; ours is nicer under scripts/test. Then that one is to be, too."""
    try:
        own = pathlib.Path("/proc/self/autogroup").read_text(encoding="ascii").split()[2]
        if own != "0":
            pathlib.Path(f"/proc/{pid}/autogroup").write_text(own, encoding="ascii")
    except (OSError, IndexError):
        pass  # there are none, or it has ended


class Program:
    """A running program of a host; its two outputs go to one file."""

    def __init__(self, host, argv, shown, env):
        self.host, self.shown = host, shown
        self._output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=self._output,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        make_as_nice(self.process.pid)

    @property
    def running(self):
        return self.process.poll() is None

    def output(self):
        fd = self._output.fileno()  # the program writes where this descriptor stands: it must not be moved
        return os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace")

    def wait(self, timeout):
        """Its exit status, or None when it has not ended in `timeout` seconds."""
        if self.running:  # subprocess would look every 50 ms, which benches see
            descriptor = os.pidfd_open(self.process.pid)
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            ended.poll(timeout * 1000)
            os.close(descriptor)
        return self.process.poll()

    def end(self):
        """Ends it: politely, then for certain. So with what it has started: a server's child keeps its port."""
        for number, patience in ((signal.SIGTERM, 1), (signal.SIGKILL, 5)):
            if not self.running:
                break
            os.killpg(self.process.pid, number)
            self.wait(patience)
        for patience in (1, 5):
            if self._group_has_ended(patience):
                break
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.poll()

    def _group_has_ended(self, patience):
        """Whether nobody is left in its process group `patience` seconds from now; its orphans are this process's children."""
        deadline = time.monotonic() + patience
        while True:
            try:
                while os.waitpid(-self.process.pid, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass
            try:
                os.killpg(self.process.pid, 0)
            except OSError:  # none there; or, EPERM, none that this user may end
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)

    def wait_for_listener(self, port, timeout=PATIENCE):
        """Waits until something on the program's host listens on TCP `port`; False when it does not come to that."""
        return self.wait_until(lambda: self.host.listens(self.process.pid, port), timeout)

    def wait_for_udp_socket(self, port, timeout=PATIENCE):
        """The same for a UDP port that is bound and not connected."""
        return self.wait_until(lambda: self.host.listens(self.process.pid, port, "udp"), timeout)

    def wait_for_cm_listener(self, port, timeout=PATIENCE):
        """The same for a port of rdma_cm."""
        return self.wait_until(lambda: self.host.listens_for_connections(self.process.pid, port), timeout)

    def wait_for_output(self, pattern, timeout=PATIENCE):
        """Waits until what it has printed matches `pattern`."""
        return self.wait_until(lambda: re.search(pattern, self.output()), timeout)

    def wait_until(self, ready, timeout=PATIENCE):
        """Waits for `ready()`; False when it does not come to that, or the program has ended."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            running = self.running  # before: what an ended program has done is done
            if ready():
                return True
            if not running:
                return False
            time.sleep(0.01)
        return False


class Host:
    def __init__(self, lab, name, holder, addresses, env=None):
        self.lab, self.name, self._holder, self._env = lab, name, holder, env or {}
        self.address = addresses  # {4: IPv4, 6: IPv6, "link": IPv6 with its netdev; not on the lone host}
        self.mtu = None  # of its netdev, where that is less than loopback's
        self._gids = None

    def enter(self):
        """The beginning of a command that runs on this host."""
        if not self._holder:
            return []
        return ["nsenter", *(f"--{kind}=/proc/{self._holder.pid}/ns/{kind}" for kind in ("net", "uts"))]

    def start(self, argv, env=None):
        """Starts a program as an ordinary user with our libraries first on its path."""
        argv = [str(a) for a in argv]
        return Program(self, self.enter() + self.lab.unprivileged + argv, argv,
                       self.lab.environment({**self._env, **(env or {})}))

    def run(self, argv, env=None, timeout=PATIENCE):
        """(exit status or None, output) of a program."""
        program = self.start(argv, env)
        status = program.wait(timeout)
        program.end()
        return status, program.output()

    def by_packets(self):
        """The same host, whose programs do not take the direct path."""
        host = copy.copy(self)
        host._env = {**self._env, "SOFTRNIC_PATH": "wire"}
        return host

    def configure(self, *argv):
        """Runs a command with the lab's own privileges."""
        subprocess.run(self.enter() + [str(a) for a in argv], check=True, stdin=subprocess.DEVNULL)

    def traffic(self, netdev):
        """Bytes that have left and come by a netdev, as the kernel counts them."""
        shown = subprocess.run([*self.enter(), "ip", "-j", "-s", "link", "show", netdev], check=True, capture_output=True)
        counters = json.loads(shown.stdout)[0]["stats64"]
        return counters["tx"]["bytes"], counters["rx"]["bytes"]

    def listens(self, pid, port, protocol="tcp"):
        state = {"tcp": "0A", "udp": "07"}[protocol]
        for table in (protocol, protocol + "6"):
            try:
                with open(f"/proc/{pid}/net/{table}") as lines:
                    if any(line.split()[3] == state and int(line.split()[1].rsplit(":", 1)[1], 16) == port
                           for line in lines.readlines()[1:]):
                        return True
            except (OSError, IndexError):
                pass
        return False

    def listens_for_connections(self, pid, port):
        status, output = self.run(["softrnic", "--json", "resource", "show", "cm_id"])
        if status != 0:
            return False
        return any(entry["state"] == "LISTEN" and entry["pid"] == pid and entry["src-addr"].endswith(f":{port}")
                   for entry in json.loads(output))

    def gid_index(self, family):
        """The GID index of this host's IPv4 or IPv6 address, as ibv_devinfo shows it; None when there is none."""
        if self._gids is None:
            self._gids = {}
            shown = self.run(["ibv_devinfo", "-v"], self.lab.sanitizer_environment())[1]
            for index, text in re.findall(r"GID\[\s*(\d+)\]:\s+([0-9a-fA-F:.]+)", shown):
                self._gids[ipaddress.IPv6Address(text)] = int(index)
        address = ipaddress.ip_address(self.address[family])
        mapped = ipaddress.IPv6Address(f"::ffff:{address}") if family == 4 else address
        return self._gids.get(mapped)

    def take_after_device(self):
        """For a host that is no namespace of ours: addresses and MTU are those of the netdev that leads out, where there is one."""
        status, output = self.run(["softrnic", "--json", "link"])
        if status != 0 or not (links := json.loads(output)):
            return
        self.mtu = links[0]["netdev_mtu"]
        gids = [gid for entry in links[0]["gids"] if not (gid := ipaddress.IPv6Address(entry["gid"])).is_link_local]
        for family, own in ((4, [gid.ipv4_mapped for gid in gids if gid.ipv4_mapped]), (6, [gid for gid in gids if not gid.ipv4_mapped])):
            if own:
                self.address[family] = str(own[0])

    def forget_gids(self):
        self._gids = None


class Lab:
    """Use as a context manager. `build` is the build or install folder with bin/ and lib/softrnic/."""

    def __init__(self, mode, build):
        self.mode = mode
        self.build = pathlib.Path(build).resolve()
        self.unprivileged = {
            "root": ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--bounding-set=-all",
                     "--inh-caps=-all", "--no-new-privs", "--pdeathsig", "KILL", "--"],
            # User 0 of a namespace: without CAP_SETFCAP it could make none below that has its own number in it, as users can.
            "user": ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all", "--no-new-privs", "--pdeathsig", "KILL", "--"],
            "plain": ["setpriv", "--no-new-privs", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else [],
        }[mode]
        self._holders = []
        self._scratch = None

    def __enter__(self):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        try:
            self._stage()
            self.lone = self._host("lone", {4: "127.0.0.1", 6: "::1"})
            if self.mode == "plain":
                self.lone.take_after_device()
            self.wire = self.lone.by_packets()
            self.pair = []
            if self.mode != "plain":
                self._join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end_orphans()
        for holder in self._holders:
            holder.kill()
            holder.wait()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def environment(self, more):
        kept = {k: v for k, v in os.environ.items()
                if k in ("PATH", "LANG", "TERM") or k.startswith("SOFTRNIC_") or k.endswith("SAN_OPTIONS")}
        kept["PATH"] = f"{self.build / 'bin'}:{kept.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"
        return {**kept, "HOME": "/", "LC_ALL": "C", "LD_LIBRARY_PATH": str(self.build / "lib/softrnic"), **more}

    def sanitizer_environment(self):
        """What an uninstrumented program needs to load our library from a sanitized build; nothing otherwise."""
        if not shutil.which("readelf"):  # comes with the compiler: where it is not, nothing was built
            return {}
        library = self.build / "lib/softrnic/libibverbs.so.1"
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=False).stdout
        runtimes = re.findall(r"NEEDED.*\[(lib(?:asan|tsan)\.so\.\d+|libclang_rt\.[at]san-.*\.so)\]", dynamic)
        if not runtimes:
            return {}
        folders = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic)  # clang's is not where the loader looks
        folders = [pathlib.Path(folder) for path in folders for folder in path.split(":") if folder.startswith("/")]
        runtimes = [next((str(f / name) for f in folders if (f / name).exists()), name) for name in runtimes]
        leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # nsenter and setpriv keep what they allocate
        return {"LD_PRELOAD": ":".join(runtimes), "ASAN_OPTIONS": leaks}

    def places(self, names):
        """Yields (name, server host, client host) of the wanted places: loopback, wire, pair."""
        if "loopback" in names:
            yield "loopback", self.lone, self.lone
        if "wire" in names:
            yield "wire", self.wire, self.wire
        if "pair" in names and self.pair:
            yield "pair", self.pair[0], self.pair[1]

    def set_mtu(self, mtu):
        """Gives both ends of the veth pair an MTU; daemons start anew so that ports show it from the beginning."""
        if any(host.mtu != mtu for host in self.pair):
            self.end_orphans()
            for host in self.pair:
                host.configure("ip", "link", "set", "eth0", "mtu", mtu)
                host.mtu = mtu
                host.forget_gids()

    def join_beside(self):
        """Joins hosts a and b a second time, for what is not to suffer with the first veth pair. Host b's IPv4 address there."""
        a, b = self.pair
        self._add_veth(a, b, "eth1", {a: "10.78.0.1", b: "10.78.0.2"})
        return "10.78.0.2"

    def join_by(self, netdev):
        """Joins hosts a and b by one more veth pair, which has no addresses yet."""
        self._add_veth(*self.pair, netdev, {})

    def end_orphans(self):
        """Ends what our programs left behind: the children that this process inherited, and theirs."""
        ours = {holder.pid for holder in self._holders}
        for _ in range(20):
            left = [pid for pid in _children(os.getpid()) if pid not in ours]
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                except OSError:
                    pass

    def _host(self, name, addresses):
        holder = None
        if self.mode != "plain":
            # Hosts of a pair have names of their own: launchers of MPI tell hosts by them.
            naming = [] if name == "lone" else named(f"host-{name}")
            holder = subprocess.Popen(["unshare", "-n", "-u", *naming, "sh", "-c", "ip link set lo up && echo && exec cat >&2"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._holders.append(holder)
            if not holder.stdout.readline():
                raise RuntimeError("cannot make a network namespace with a host name of its own")
        return Host(self, name, holder, addresses)

    def _join(self):
        a = self._host("a", {4: "10.77.0.1", 6: "fd77::1", "link": "fe80::77:1%eth0"})
        b = self._host("b", {4: "10.77.0.2", 6: "fd77::2", "link": "fe80::77:2%eth0"})
        self._add_veth(a, b, "eth0", {a: a.address[4], b: b.address[4]})
        for host in (a, b):
            host.mtu = 1500
            for own in (host.address[6], host.address["link"].partition("%")[0]):
                host.configure("ip", "address", "add", f"{own}/64", "dev", "eth0", "nodad")
        self.pair = [a, b]

    @staticmethod
    def _add_veth(a, b, name, addresses):
        a.configure("ip", "link", "add", name, "type", "veth", "peer", "name", name, "netns", b._holder.pid)
        for host in (a, b):
            host.configure("ip", "link", "set", name, "up")
            if host in addresses:
                host.configure("ip", "address", "add", f"{addresses[host]}/24", "dev", name)

    def _stage(self):
        """A clone below a private folder cannot be read by another user: then a copy serves."""
        library = self.build / "lib/softrnic/libibverbs.so.1"
        if self.mode != "root" or _works(*self.unprivileged, "test", "-r", str(library)) or not library.exists():
            return
        self._scratch = tempfile.mkdtemp(prefix="softrnic-lab-")
        os.chmod(self._scratch, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        for part in ("bin", "lib/softrnic", "tests/interop", "tests/copy"):
            if (self.build / part).exists():
                shutil.copytree(self.build / part, pathlib.Path(self._scratch, part), symlinks=True,
                                ignore=shutil.ignore_patterns("CMakeFiles", "*.a", "*.cmake", "CTestTestfile*"))
        self.build = pathlib.Path(self._scratch)


def _children(parent):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:  # a name may be any bytes
                    if int(file.read().rsplit(b")", 1)[1].split()[1]) == parent:
                        found.append(int(entry))
            except OSError:
                pass
    return found
