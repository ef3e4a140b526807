"""What scripts/demo needs, asked before it builds: each lack is a sentence with its cure."""
import os
import pathlib
import shutil
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RUN = {"ibv_devinfo": "ibverbs-utils", "ibv_rc_pingpong": "ibverbs-utils", "ib_write_bw": "perftest", "ib_read_bw": "perftest",
       "ib_send_lat": "perftest", "iperf3": "iperf3", "qperf": "qperf"}
BUILD = {"cmake": "cmake", "ninja": "ninja-build", "c++": "build-essential"}
TO_BUILD, FOR_COPIES = 2 << 30, 1 << 30  # bytes
USER_NAMESPACES = (  # where the kernel says that users may make none, what it says then, and how root changes it
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
)
MODES = {
    "root": "You are root, so the two hosts are real network namespaces; the programs run as user nobody.",
    "user": "You are not root: the two hosts live in a user namespace; the programs run without any capability.",
    "root, in a user namespace": "This root may make network namespaces below a user namespace alone: the two hosts live in one.",
    "plain": "Network namespaces are not to be had: two processes of this host do instead of two hosts.",
}


class Lack(Exception):
    """What stands in the way, and the cure."""


def programs(wanted):
    """Refuses when one of {program: Debian package} is not on PATH."""
    path = f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"
    missing = {name: package for name, package in wanted.items() if not shutil.which(name, path=path)}
    if missing:
        raise Lack(f"not on PATH: {', '.join(missing)}. As root: apt-get install {' '.join(sorted(set(missing.values())))}; "
                   "or, where they are installed, add their folder to PATH.")


def room(folder, wanted, what):
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise Lack(f"{what} wants {wanted >> 30} GiB of disk, and {folder} has {free / (1 << 30):.1f} GiB free. Make room there.")
    return free


def folder_to_build_in(folder):
    """Refuses where it cannot be written, or has files of another user."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    owned = [existing, *(path for name in ("CMakeCache.txt", "build.ninja", ".ninja_log", "bin", "src", "lib/softrnic")
                         if (path := folder / name).exists())]
    for path in owned:
        if not os.access(path, os.W_OK):
            shown = os.path.relpath(path, ROOT)
            raise Lack(f"{shown} cannot be written by you. Take a clone of your own, or have its owner remove {folder}"
                       + (f"; or use what is built there: scripts/demo --build {folder}" if folder == existing else "") + ".")
    if not (folder / "bin/softrnic").exists():
        room(existing, TO_BUILD, "The build")


def temporary_folder():
    try:
        with tempfile.TemporaryFile(dir=os.environ.get("TMPDIR")) as file:
            file.write(b"x")
    except OSError as error:
        raise Lack(f"no temporary file can be written ({error}). Set TMPDIR to a folder of yours.") from error
    room(tempfile.gettempdir(), FOR_COPIES, "The demo's copies of a file")


def compiler_cache():
    """The environment in which ccache does not fail: it wants a folder that can be written."""
    cache = pathlib.Path(os.environ.get("CCACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~"))
    while not cache.exists():
        cache = cache.parent
    return {} if os.access(cache, os.W_OK) else {"CCACHE_DISABLE": "1"}


def built(folder):
    """Refuses what is no build or install folder."""
    for name in ("bin/softrnic", "bin/softrnicd", "lib/softrnic/libibverbs.so.1"):
        path = folder / name
        if not path.exists():
            raise Lack(f"{path} is not there. Build it by scripts/build product, or leave out --build.")
        if not os.access(path, os.R_OK):
            raise Lack(f"{path} cannot be read by you. Have its owner run: chmod -R a+rX {folder}")


def cure_of_plain():
    """How hosts can be had that are none in this system; for whom it is not clear why, root's way."""
    cures = []
    for file, value, cure in USER_NAMESPACES:
        try:
            if pathlib.Path(file).read_text().strip() == value:
                cures.append(cure)
        except OSError:
            pass
    if os.geteuid() == 0:
        return "in a container: give it CAP_SYS_ADMIN and CAP_NET_ADMIN, or run the demo outside"
    return "run it as root, or let users make namespaces; as root: " + " && ".join(cures) if cures else "run it as root, or ask root why users may make no namespaces"


def describe(mode, refusal):
    """Lines that say which hosts there will be, and why none that are better."""
    of_root = mode == "user" and os.geteuid() == 0
    lines = [MODES["root, in a user namespace"] if of_root else MODES[mode]]
    if mode == "plain":
        lines += [f"  why: {refusal}", f"  cure: {cure_of_plain()}"]
    return lines
