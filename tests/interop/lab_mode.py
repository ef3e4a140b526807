"""In which way a lab has its hosts: network namespaces as root, those below a user namespace, or none."""
import os
import shutil
import subprocess
import sys

MARK = "SOFTRNIC_LAB_MODE"


def find_mode():
    """(mode, beginning of a command that runs in it, what the system says against a better one): root, user or plain."""
    missing = [name for name in ("unshare", "nsenter", "setpriv", "ip") if not shutil.which(name, path=_path())]
    if missing:
        return "plain", [], f"not found: {', '.join(missing)}"
    attempts = [("user", ["unshare", "-Urn"])]
    if os.geteuid() == 0:
        attempts.insert(0, ("root", ["unshare", "-n"]))
    refusals = []
    for mode, command in attempts:
        tried = subprocess.run([*command, *_all_that_a_lab_does()], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               errors="replace", env={**os.environ, "PATH": _path()})
        if tried.returncode == 0:
            return mode, command, "; ".join(refusals)
        said = tried.stderr.strip().splitlines() or [f"status {tried.returncode}"]
        refusals.append(f"{' '.join(command)}: {said[-1]}")
    return "plain", [], "; ".join(refusals)


def entered():
    """Whether this script runs in the namespace already."""
    return MARK in os.environ


def enter():
    """Runs this script again inside a network namespace of its own. Returns the mode: root, user or plain."""
    mode = os.environ.pop(MARK, None)
    if mode:
        return mode
    mode, command, _ = find_mode()
    if mode != "plain":
        os.environ[MARK] = mode
        os.environ["PATH"] = _path()
        os.execvp(command[0], [*command, sys.executable, *sys.argv])
    return mode


def _path():
    """PATH with the folders of ip(8), which users of some systems have not on theirs."""
    return f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"


def named(name):
    """The beginning of a command that runs in a host of this name: sethostname(2), as root of a user namespace may not write
    /proc/sys/kernel/hostname."""
    script = "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execvp(sys.argv[2], sys.argv[2:])"
    return [sys.executable, "-I", "-S", "-c", script, name]


def _all_that_a_lab_does():
    """A command that fails where the namespace that it runs in has not the rights to make hosts and join them."""
    joined = "ip link set lo up && ip link add probe0 type veth peer name probe1"
    return ["unshare", "-n", "-u", *named("host-probe"), "sh", "-c", joined]
