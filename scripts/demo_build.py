"""The build of scripts/demo: what the demo and `softrnic run` need of the product, with how far it is and how long it will take."""
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRESET = "product"
# The libraries, the preload library that `softrnic run` adds, and both programs; not the emulated fabric, nor manual pages.
TARGETS = ("ibverbs", "rdmacm", "ibumad", "softrnic-preload", "softrnic-sysfs", "softrnicd", "softrnic")
# What a step takes, beside another one, relative to most files of the data path, for which it is 1. Of other layers a step
# compiles several files as one.
OF_A_LAYER = {"base": 0.7, "wire": 0.8, "ethernet": 1.3, "transport": 0.8, "mad": 9.8, "device": 0.6, "fabric": 9.1, "cm":
              4.7, "iwcm": 3.7, "rnic": 1.0, "cma": 4.8, "link": 0.8, "control": 11.0, "net": 1.9, "flow": 0.7,
              "samehost": 1.2, "engine": 1.9, "text": 16.1, "grammar": 11.7, "daemon": 9.8, "rsocket": 5.1, "abi": 7.8,
              "sysfs": 3.9, "copy": 5.0, "doctor": 3.7, "cli": 7.2}
COMMON_HEADERS = 6
AN_ARCHIVE = 0.3
OPTIMISED_WHOLE = ("libibverbs.so", 38)  # when it is linked, and that no compiler cache saves
# Seconds of one processor for weight 1, and for the text below, on the machine where these were measured.
SECONDS, SECONDS_OF_TEXT = 0.5, 0.38
TEXT = "#include <algorithm>\n#include <functional>\n#include <map>\n#include <string>\n#include <vector>\n"
TRIED_FIRST = 4              # steps for each processor by which this one is measured
LINE_EVERY = 20              # seconds, where no terminal shows a line that changes


class Failed(Exception):
    """The message says what to do."""


def weight(step):
    """Of a step as ninja names it."""
    if OPTIMISED_WHOLE[0] in step and step.startswith("Linking"):
        return OPTIMISED_WHOLE[1]
    if step.endswith(".gch"):
        return COMMON_HEADERS
    layer = re.match(r"Building \w+ object src/(\w+)/", step)
    return OF_A_LAYER.get(layer[1], 1) if layer else AN_ARCHIVE


def is_cached(step):
    """Whether a compiler cache can save it."""
    return step.startswith("Building ")


def duration(seconds):
    """In words, no more exact than it can be."""
    if seconds < 50:
        return f"{max(5, round(seconds / 5) * 5)} seconds"
    minutes = round(seconds / 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"


def counted(number, what):
    return f"{number} {what}{'s' if number != 1 else ''}"


class Estimate:
    """How long the steps that are left will take: from those that are done, and from what was measured before. Files that are
    compiled have a rate of their own, as a compiler cache may save them; what it does not save is linked at `linking`. Rates
    are seconds for weight 1 when all processors work."""

    TRUST = 0.05  # of all the weight; when as much is done, it counts as much as the first rate

    def __init__(self, steps, compiling, linking):
        self._rate, self._linking = compiling, linking
        self._files, self._links = (sum(weight(s) for s in steps if is_cached(s) == kind) for kind in (True, False))
        self._all, self._first = self._files + self._links, max(1e-9, self.TRUST * self._files)
        self._spent = self._done = 0.0
        self._waited = 0.0  # since the last step was finished

    def finished(self, step, seconds):
        """`seconds` have gone by since the step before it was finished."""
        self._waited = 0.0
        if is_cached(step):
            self._files -= weight(step)
            self._done += weight(step)
        else:
            self._links -= weight(step)
        if weight(step) < OPTIMISED_WHOLE[1]:
            self._spent += seconds

    def waited(self, seconds):
        """That many have gone by since a step was finished."""
        self._waited = seconds

    def left(self):
        """Seconds; less than none when the last steps take longer than thought."""
        rate = (self._rate * self._first + self._spent) / (self._first + self._done)
        return max(0, self._files) * rate + max(0, self._links) * max(rate, self._linking) - self._waited

    def share(self):
        """Of the work that is done, 0 to 1."""
        return 1 - max(0, self._files + self._links) / self._all if self._all else 1


class Progress:
    """One line that changes on a terminal; elsewhere a line every so often."""

    def __init__(self, out=sys.stdout):
        self._out, self._terminal, self._last = out, out.isatty(), time.monotonic()

    def show(self, text):
        now = time.monotonic()
        if self._terminal:
            self._out.write(f"\r\033[K{text}")
        elif now - self._last >= LINE_EVERY:
            self._out.write(text + "\n")
        else:
            return
        self._last = now
        self._out.flush()

    def clear(self):
        if self._terminal:
            self._out.write("\r\033[K")
            self._out.flush()


class Build:
    """`log` is a file for all that the tools say."""

    def __init__(self, environment, log):
        self._environment = {**os.environ, **environment, "NINJA_STATUS": "[%f/%t] "}
        self._log = log
        self._folder = ROOT / "build" / PRESET
        self.processors = int(self._output(["bash", "-c", '. "$0"; jobs', ROOT / "scripts/lib.sh"]))

    def _output(self, command):
        return subprocess.run(command, check=True, capture_output=True, text=True, env=self._environment).stdout

    def _run(self, targets, finished=lambda step: None, tick=lambda: None):
        """scripts/build with what it prints in the log; `finished(step)` for each step, `tick()` about once a second."""
        process = subprocess.Popen([ROOT / "scripts/build", PRESET, *targets], env=self._environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            rest = b""
            while True:
                tick()
                if not select.select([process.stdout], [], [], 1)[0]:
                    continue
                got = os.read(process.stdout.fileno(), 1 << 16)
                if not got:
                    break
                self._log.write(got)
                *lines, rest = (rest + got).split(b"\n")
                for line in lines:
                    step = re.match(r"\[\d+/\d+\] (.*)", line.decode(errors="replace"))
                    if step:
                        finished(step[1])
            status = process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)  # ninja ends its compilers, which hold the other end of the pipe
                process.stdout.read()
                process.wait()
        if status != 0:
            self._log.flush()
            raise Failed(explain(pathlib.Path(self._log.name)))

    def steps(self):
        """What is to be done, in the order of ninja."""
        shown = self._output(["cmake", "--build", self._folder, "--target", *TARGETS, "--", "-n"])
        return [step for step in re.findall(r"^\[\d+/\d+\] (.*)$", shown, re.M) if not step.startswith("Re-running")]

    def _speed(self):
        """Seconds for weight 1 on one processor of this machine, as it is just now, by a text that no cache has."""
        begin = time.monotonic()
        subprocess.run(["c++", "-std=c++20", "-O2", "-c", "-x", "c++", "-o", os.devnull, "-"], input=TEXT.encode(), check=True,
                       env={**self._environment, "CCACHE_DISABLE": "1"}, stderr=self._log)
        return (time.monotonic() - begin) * SECONDS / SECONDS_OF_TEXT

    def _try_some(self, steps):
        """Builds a few steps from everywhere. Seconds for weight 1 on one processor: less where a cache has them."""
        objects = [step.split()[-1] for step in steps if is_cached(step)]
        if not objects:
            return 0
        wanted = TRIED_FIRST * self.processors
        tried = objects[:: max(1, len(objects) // wanted)][:wanted]
        self._run(tried)
        took = sum((int(end) - int(begin)) / 1000 for begin, end, _, name, _ in
                   (line.split("\t") for line in (self._folder / ".ninja_log").read_text().splitlines()[1:]) if name in tried)
        return took / sum(weight(f"Building CXX object {name}") for name in tried)

    def run(self):
        """Builds; seconds that it took."""
        begin = time.monotonic()
        if not (self._folder / "build.ninja").exists():
            print("configuring …", flush=True)
        self._run(["help"])  # builds nothing, but configures when that is to be done
        steps = self.steps()
        if not steps:
            return 0
        print("timing a few steps of the build …", flush=True)
        rates = self._try_some(steps), self._speed()
        steps = self.steps()
        estimate = Estimate(steps, *(rate / self.processors for rate in rates))
        print(f"{counted(len(steps), 'step')} on {counted(self.processors, 'processor')}: "
              f"about {duration(estimate.left())}; once more: seconds", flush=True)
        progress, last, done = Progress(), time.monotonic(), 0

        def finished(step):
            nonlocal last, done
            now = time.monotonic()
            estimate.finished(step, now - last)
            last, done = now, done + 1

        def tick():
            estimate.waited(time.monotonic() - last)
            left = estimate.left()
            when = f"about {duration(left)} left" if left > 0 else "the last ones take longer than thought"
            progress.show(f"{estimate.share():4.0%}: {done} of {len(steps)} steps, {when}")

        self._run(TARGETS, finished, tick)
        progress.clear()
        return time.monotonic() - begin


def explain(log):
    """The first thing that failed, and what to do."""
    text = log.read_text(errors="replace")
    begin = text.find("FAILED: ")
    lines = text[begin:].splitlines() if begin >= 0 else []
    shown = [*lines[:1], *lines[2:14]] if lines else text.splitlines()[-12:]  # the second one is the compiler's command
    for sign, cure in (("No space left on device", "The disk is full: make room, and start the demo again; it goes on from here."),
                       ("Killed", "The compiler was killed, mostly for lack of memory: end other programs, and start the demo again; "
                                  "it goes on from here."),
                       ("ccache: error", "ccache cannot work: set CCACHE_DIR to a folder of yours, or CCACHE_DISABLE=1."),
                       ("Could NOT find", "Something is missing to build with: scripts/deps build installs it."),
                       ("CMakeCache.txt directory", "The folder build/product comes from another place: remove it, and start again.")):
        if sign in text:
            break
    else:
        cure = "Remove build/product and start again; when it fails again, that is a bug worth a report with this file."
    return "the build failed:\n" + "\n".join("    " + line[:240] for line in shown) + f"\nAll of it: {log}\n{cure}"
