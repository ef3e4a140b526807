"""Programs that run between hosts while something happens to the network: carries out such runs one after the other, and tells."""
import argparse
import pathlib
import re

import lab as lab_module

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Run:
    """One: run() gives what went wrong, or None."""

    def __init__(self):
        self.programs = []  # what it has started

    def run(self):
        raise NotImplementedError

    def report(self):
        return "\n".join(f"---- {' '.join(program.shown)}\n{program.output()[-3000:]}" for program in self.programs)


def carried_out(name, run):
    """Whether all went well."""
    try:
        failure = run.run()
        print(f"{name}: {failure or 'ok'}", flush=True)
        if failure:
            print(run.report(), flush=True)
        return not failure
    finally:
        for program in run.programs:
            program.end()


def main(description, runs):
    """Exit status. `runs(lab)` yields (name, a function that makes the Run)."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    mode = lab_module.enter()
    if mode == "plain":
        return SKIPPED
    with lab_module.Lab(mode, options.build) as lab:
        chosen = [(name, make) for name, make in runs(lab) if re.search(options.match, name)]
        good = [carried_out(name, make()) for name, make in chosen]
    return 0 if all(good) else 1
