"""What the tests of `softrnic cp`, `serve` and `ping` need: a server on one host, clients on another, folders and a token.

Programs run as an ordinary user (see tests/interop/lab.py), so the folders belong to that user.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
import lab as lab_module  # noqa: E402

TOKEN = "a token of the tests"


class Failed(Exception):
    pass


class Skipped(Exception):
    """The case cannot be had here, for the reason that it says."""


class Scene:
    """One server host and one client host; `root` is what the server serves, `home` is the client's."""

    def __init__(self, lab, server_host, client_host):
        self.lab, self.server_host, self.client_host = lab, server_host, client_host
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="softrnic-copy-", dir=os.environ.get("TMPDIR")))
        self.root, self.home = self.folder / "root", self.folder / "home"
        self.token_file = self.write_token("token", TOKEN)
        for folder in (self.root, self.home):
            folder.mkdir()
        self.give(self.folder)
        self.server = None
        self.port = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write_token(self, name, token):
        path = self.folder / name
        path.write_text(token + "\n")
        path.chmod(0o600)
        self.give(path)
        return path

    def give(self, *paths):
        """Makes the files belong to the user that the programs run as."""
        if self.lab.mode == "root":
            for path in paths:
                for folder, _, files in os.walk(path) if os.path.isdir(path) and not os.path.islink(path) else ():
                    for one in [folder, *(os.path.join(os.fsencode(folder), os.fsencode(f)) for f in files)]:
                        os.chown(one, int(lab_module.NOBODY), int(lab_module.NOBODY), follow_symlinks=False)
                os.chown(path, int(lab_module.NOBODY), int(lab_module.NOBODY), follow_symlinks=False)

    def serve(self, *options, env=None):
        """Starts a server and waits until it listens."""
        self.server = self.server_host.start(["softrnic", "serve", "--port", "0", "--token-file", self.token_file, *options],
                                             env)
        if not self.server.wait_for_output(r"listening on port (\d+)"):
            raise Failed(f"the server does not listen:\n{self.server.output()}")
        self.port = int(re.search(r"listening on port (\d+)", self.server.output())[1])
        return self

    def stop(self):
        """Ends the server. Its exit status."""
        if self.server is None:
            return None
        status = self.server.end()
        self.server = None
        return status

    @property
    def address(self):
        return f"{self.server_host.address[4]}:{self.port}"

    def client(self, *argv, env=None, timeout=120, token_file=None):
        """(exit status, output) of `softrnic ARGV`."""
        command = ["softrnic", *argv[:1], "--token-file", token_file or self.token_file, *argv[1:]]
        return self.client_host.run(command, env, timeout)
