"""Runs the suite to its end, through crashes and hangs of single cases, and collects the outcome of each."""
import collections
import json

import expectations

MARK = "@record "
LONGEST_RUN = 1200  # seconds; single cases are limited by the driver

Result = collections.namedtuple("Result", "outcome detail")


def records(output):
    """Yields the records, each with the lines before it, which the suite and its children have written."""
    said = []
    for line in output.split("\n"):
        if line.startswith(MARK):
            yield json.loads(line[len(MARK):]), said
            said = []
        elif line:
            said.append(line)


def story(status, output):
    """What ended a driver that did not come to its end."""
    noise = [line for line in output.split("\n") if line and not line.startswith(MARK)][-40:]
    hung = any(line.startswith("Timeout (") for line in noise)
    how = "hung" if hung or status is None else f"ended the process with status {status}"
    return Result("crash", "\n".join([how, *noise]))


def run(host, driver, gid, match):
    """Case → Result. After a crash the suite goes on with the next case."""
    results = {}
    while True:
        argv = [*driver, str(len(results)), match, "--dev", "soft0", "--port", 1, "--gid", gid]
        status, output = host.run(argv, timeout=LONGEST_RUN)
        running, done = None, False
        for entry, said in records(output):
            if entry["event"] == "start":
                running = entry["case"]
            elif entry["event"] == "end":
                detail = "\n".join([entry["detail"].rstrip(), *said]) if entry["outcome"] == "fail" else entry["detail"]
                results[entry["case"]] = Result(entry["outcome"], detail)
                running = None
            else:
                done = True
        if done and status == 0:
            return results
        if running is None:  # outside of any case: there is no going on
            results[expectations.ITSELF] = story(status, output)
            return results
        results[running] = story(status, output)
