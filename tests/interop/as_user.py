#!/usr/bin/env python3
"""What README promises to an ordinary user: two hosts in a user namespace, for the demo and for the tests.

    tests/interop/as_user.py --build FOLDER

Root becomes a user without any capability, for whom all that is needed is copied to where it can be read; an ordinary user runs
it as it is. Exit status 77: users may make no user namespaces here.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER = 65534
SOURCES = ("scripts", "tests/interop", "tests/copy")
BUILT = ("bin", "lib/softrnic", "tests/interop")
GROUPS = ("devices", "pingpong", "verify", "rdmacm-rping", "iwarp")
SKIPPED = 77


class Place:
    """Where it runs, and as whom."""

    def __init__(self, sources, build, folder):
        self.sources, self.build = sources, build
        self._user = []
        if os.geteuid() == 0:
            self._user = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--bounding-set=-all",
                          "--inh-caps=-all", "--"]
        self._env = {**{k: v for k, v in os.environ.items() if k in ("PATH", "LANG")}, "PYTHONDONTWRITEBYTECODE": "1",
                     "HOME": folder, "TMPDIR": folder}

    def run(self, *argv):
        """(exit status, output)"""
        done = subprocess.run([*self._user, *map(str, argv)], env=self._env, cwd="/", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        return done.returncode, done.stdout


def copy_for_user(build, folder):
    """The place of a user who is not to need any file of root's."""
    for base, parts, to in ((ROOT, SOURCES, folder / "sources"), (build, BUILT, folder / "build")):
        for part in parts:
            shutil.copytree(base / part, to / part, symlinks=True,
                            ignore=shutil.ignore_patterns("CMakeFiles", "*.cmake", "*.o", "__pycache__", "softrnic-fabricd"))
    own = folder / "own"
    own.mkdir()
    os.chown(own, USER, USER)
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    return Place(folder / "sources", folder / "build", str(own))


def two_hosts(place):
    """The programs between two hosts all run and end well."""
    groups = [word for group in GROUPS for word in ("--group", group)]
    # Not the Python that runs this one: root's may be where nobody else may read it.
    status, output = place.run("env", "python3", place.sources / "tests/interop/run", "--smoke", "--on", "pair", *groups,
                               "--build", place.build)
    return status == 0 and re.search(r"^[1-9]\d* passed, 0 failed$", output, re.M), output


def the_demo(place):
    """It says as whom it runs, shows two hosts and a table, and what it has checked."""
    status, output = place.run(place.sources / "scripts/demo", "--quick", "--build", place.build)
    wanted = ("You are not root", "== 3. Two hosts", "== Results (between two hosts", "Checked: ")
    return status == 0 and all(words in output for words in wanted) and "Traceback" not in output, output


def no_namespaces(place):
    """Where none are allowed the demo says so with the cure, and goes on with two processes."""
    forbidden = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--net", "--keep-caps", "sh", "-c",
                 'ip link set lo up && echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all '
                 '--ambient-caps=-all -- "$@"', "sh"]
    status, output = place.run(*forbidden, place.sources / "scripts/demo", "--quick", "--build", place.build)
    wanted = ("two processes of this host do instead", "why: ", "cure: ", "== 3. Two processes on one host", "== Results")
    return status == 0 and all(words in output for words in wanted), output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory(prefix="softrnic-user-") as folder:
        place = copy_for_user(build, pathlib.Path(folder)) if os.geteuid() == 0 else Place(ROOT, build, folder)
        status, output = place.run("unshare", "-Urn", "true")
        if status != 0:
            print(f"skipped: users may make no user namespaces here: {output.strip()}")
            return SKIPPED
        failed = 0
        for case in (two_hosts, the_demo, no_namespaces):
            good, output = case(place)
            failed += not good
            print(f"{'ok' if good else 'FAILED'}: {case.__name__}" + ("" if good else f"\n{output}"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
