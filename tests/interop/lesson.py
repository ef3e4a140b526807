#!/usr/bin/env python3
"""docs/infiniband.md: each command of the lesson is run, and must print what the lesson shows.

    lesson.py --build FOLDER [--chapter REGEX] [--share N/M]

Commands stand in blocks of ```console after "$ "; "> " continues one, other lines are what it prints. A line "…" stands
for any lines, … within a line for any text, ≈N for a number from half of N to twice N, and ~N for one from
a thousandth to a thousand times, as figures of time are on a machine that others load. One shell runs a chapter; what
is not the lesson's own command line is left out of the comparison. A command that only looks is tried again for a while
when it prints something else, as a reader would do whose fabric is not up yet.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from fabric_lab import enter_network

LESSON = pathlib.Path(__file__).parents[2] / "docs" / "infiniband.md"
PATIENCE = 90  # seconds that a command may take
LOOKS_AGAIN = 30  # seconds
LOOKS = re.compile(r"softrnic fabric (show|log|list)|on \w+ (ib(stat|hosts|netdiscover|linkinfo|route|tracert|queryerrors)|sm(info|pquery)|"
                   r"saquery|perfquery (?!-R))|cat \w+\.txt")
TOOLS = ("ibnetdiscover", "ibv_rc_pingpong", "ib_write_bw", "rping", "tshark", "opensm")
MARK = "-- that was all, and ended with"


class Failure(Exception):
    """What was expected, and what came instead."""


def chapters(text):
    """Each heading with its commands: pairs of command and the lines it prints."""
    heading, commands, in_block = "", [], False
    for line in text.splitlines():
        if line.startswith("## ") and not in_block:
            if commands:
                yield heading, commands
            heading, commands = line[3:], []
        elif line.startswith("```"):
            in_block = line == "```console"
        elif in_block and line.startswith("$ "):
            commands.append((line[2:], []))
        elif in_block and line.startswith("> "):
            commands[-1] = (f"{commands[-1][0]}\n{line[2:]}", [])
        elif in_block:
            commands[-1][1].append(line)
    if commands:
        yield heading, commands


def agrees(wanted, line):
    """Whether a line is the one that the lesson shows. Blanks count as one."""
    wanted, line = " ".join(wanted.split()), " ".join(line.split())
    parts = re.split(r"(…|[≈~][\d.]+)", wanted)
    numbers = [(float(part[1:]), 2 if part[0] == "≈" else 1000) for part in parts if part[:1] in ("≈", "~")]
    pattern = "".join(".*" if part == "…" else r"([\d.]+)" if part[:1] in ("≈", "~") else re.escape(part) for part in parts)
    found = re.fullmatch(pattern, line)
    return found is not None and all(number / factor <= float(seen) <= number * factor
                                     for (number, factor), seen in zip(numbers, found.groups()))


def agree(wanted, lines):
    """Whether the lines are those of the lesson, where a line … stands for any number of them."""
    reachable = {0}  # how many lines may have been passed by
    for line in wanted:
        if line.strip() == "…":
            reachable = set(range(min(reachable), len(lines) + 1)) if reachable else set()
        else:
            reachable = {at + 1 for at in reachable if at < len(lines) and agrees(line, lines[at])}
    return len(lines) in reachable


class Shell:
    """One that reads what it is told, in a folder of its own; all that it has started ends with its block."""

    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="softrnic-lesson-")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.folder, LC_ALL="C.UTF-8",
                        PATH=f"{build}/bin:{os.environ['PATH']}:/usr/sbin:/sbin")
        self.env.pop("SOFTRNIC_CAPTURE", None)
        self.shell = subprocess.Popen(["bash", "--noprofile", "--norc"], env=self.env, cwd=self.folder, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["softrnic", "fabric", "down"], env=self.env, capture_output=True, check=False)
        self.end_session()
        self.shell.wait()
        self.wait_for_end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_session(self):
        """What is in the background may have a process group of its own (timeout)."""
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                session = int(stat.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[3])
                if session == self.shell.pid:
                    os.kill(int(stat.parent.name), signal.SIGKILL)
            except OSError:
                continue  # it has ended

    def wait_for_end(self):
        """`fabric down` does not wait until the fabric has gone."""
        for _ in range(500):
            if not subprocess.run(["softrnic", "fabric", "list"], env=self.env, capture_output=True, check=False).stdout:
                return
            time.sleep(0.02)

    def run(self, command):
        self.shell.stdin.write(f"{command}\necho; echo '{MARK}' $?\n".encode())
        self.shell.stdin.flush()
        output = b""
        os.set_blocking(self.shell.stdout.fileno(), False)
        end = time.monotonic() + PATIENCE
        while not re.search(rf"\n{MARK} \d+\n".encode(), output):
            if time.monotonic() > end:
                raise Failure(f"$ {command}\ndid not end within {PATIENCE} s\n{output.decode(errors='replace')}")
            output += self.shell.stdout.read() or b""
            time.sleep(0.005)
        text = output.decode(errors="replace").rsplit(f"\n{MARK}", 1)[0]
        # Not what tools say to whoever is root.
        return [line for line in text.rstrip("\n").splitlines() if not line.startswith("Running as user")]


def follow(shell, command, wanted):
    end = time.monotonic() + LOOKS_AGAIN
    while True:
        lines = shell.run(command)
        if agree(wanted, lines):
            break
        if not LOOKS.search(command) or "&" in command or time.monotonic() > end:
            raise Failure("\n".join([f"$ {command}", "-- the lesson shows:", *wanted, "-- there came:", *lines]))
        time.sleep(0.1)
    if command == "softrnic fabric down":
        shell.wait_for_end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--chapter", default="")
    parser.add_argument("--share", default="1/1", help="of M shares of the chapters the Nth, that others run side by side with it")
    options = parser.parse_args()
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return 77
    enter_network()  # the lesson's programs take the ports that they take
    failed = 0
    every = list(chapters(LESSON.read_text(encoding="utf-8")))
    preparation = every[0][1]
    share, shares = map(int, options.share.split("/"))
    for heading, commands in every[share - 1::shares]:
        if not re.search(options.chapter, heading):
            continue
        began = time.monotonic()
        try:
            with Shell(options.build.resolve()) as shell:
                for command, wanted in [*(preparation if commands is not preparation else []), *commands]:
                    follow(shell, command, wanted)
            print(f"ok      {heading} ({time.monotonic() - began:.1f} s)", flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED  {heading}\n{failure}", flush=True)
    return 1 if failed or not every else 0


if __name__ == "__main__":
    sys.exit(main())
