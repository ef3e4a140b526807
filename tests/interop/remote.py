"""Remote shells on emulated hosts, for launchers that start programs on other hosts by ssh or rsh."""
import contextlib
import pathlib

SHELL = pathlib.Path(__file__).resolve().parent / "remote_shell.py"


@contextlib.contextmanager
def shells(hosts, folder):
    """While it lasts, SHELL reaches the hosts by their IPv4 addresses; what it runs finds our device under /sys. Gives its environment.

    `folder` is one that the hosts' programs may write to.
    """
    servers = []
    try:
        for host in hosts:
            name = host.address[4]
            servers.append(host.start(["softrnic", "run", "--", SHELL, "--serve", folder, name]))
            if not servers[-1].wait_until(pathlib.Path(folder, name).exists):
                raise RuntimeError(f"no remote shell on {host.name}: {servers[-1].output()}")
        yield {"REMOTE_SHELL": str(folder)}
    finally:
        for server in servers:
            server.end()
        for host in hosts:
            pathlib.Path(folder, host.address[4]).unlink(missing_ok=True)
