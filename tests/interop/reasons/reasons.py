#!/usr/bin/env python3
"""Every mistake of the table gets its answer, with the object and the figures, on stderr and in `softrnic explain`.

    reasons.py --build FOLDER [--match REGEX] [--show]

The program `reasons` (plain libibverbs) makes one mistake a run and says what the user has to be told. When it has ended,
`softrnic explain` has to tell the same. Exit status 77: no network namespace of our own can be had.
"""
import argparse
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import lab as lab_module  # noqa: E402

LINE = re.compile(r"^softrnic: (?:QP (0x[0-9a-f]+) ?)?(?:\(peer 0x[0-9a-f]+\) ?)?(?:peer QP 0x[0-9a-f]+ ?)?(?:wr_id (\d+))?(?:: )?(.*)$")
MOST_LINES = 60  # of one run: a flood is no answer


def printed(output):
    """What SOFTRNIC_EXPLAIN printed: (qpn, wr_id or None, words)."""
    for line in output.splitlines():
        match = LINE.match(line)
        if match:
            yield int(match[1] or "0", 16), int(match[2]) if match[2] else None, match[3]


def remembered(text):
    """What `softrnic explain --json` tells, in the same form."""
    for row in json.loads(text):
        yield row["lqpn"], row.get("wr_id"), row["sentence"]


def missing(expected, told):
    told = list(told)
    return [e for e in expected
            if not any(qpn == e["qpn"] and ("wr_id" not in e or wr_id == e["wr_id"]) and e["words"] in words
                       for qpn, wr_id, words in told)]


def check(host, program, name, environment):
    """(failures, the program's output)"""
    status, output = host.run([program, name], {"SOFTRNIC_EXPLAIN": "1", **environment}, timeout=60)
    if status != 0:
        return [f"the case ended with {status}"], output
    expected = [json.loads(line[len("EXPECT "):]) for line in output.splitlines() if line.startswith("EXPECT ")]
    pid = re.search(r"^PID (\d+)", output, re.M)[1]
    failures = [] if expected else ["nothing was expected"]
    failures += [f"not on stderr: {e}" for e in missing(expected, printed(output))]
    status, text = host.run(["softrnic", "explain", "--pid", pid, "--all", "--json"])
    if status != 0:
        return failures + [f"softrnic explain ended with {status}: {text}"], output
    failures += [f"not in softrnic explain: {e}" for e in missing(expected, remembered(text))]
    lines = sum(1 for _ in printed(output))
    if lines > MOST_LINES:
        failures.append(f"{lines} lines are a flood")
    return failures, output


# ---- what programs of Debian get to know

def pingpong(server, client, at_server, at_client):
    """Two unmodified programs that disagree: both hosts know why."""
    serving = server.start(["ibv_rc_pingpong", "-g", "0", "-p", "18600", *at_server[0]])
    if not serving.wait_for_listener(18600):
        serving.end()
        return ["the server did not start"], serving.output()
    _, output = client.run(["ibv_rc_pingpong", "-g", "0", "-p", "18600", *at_client[0], server.address[4]])
    serving.wait(5)
    serving.end()
    failures = []
    for host, words in ((server, at_server[1]), (client, at_client[1])):
        _, text = host.run(["softrnic", "explain"])
        if words not in text:
            failures.append(f"softrnic explain on one host does not say \"{words}\" but:\n{text}")
    return failures, serving.output() + output


def settings(host, program):
    """Variables nobody knows are named once; faults that cannot be read let no device open."""
    failures = []
    status, output = host.run([program, "queries"], {"SOFTRNIC_EXPLIAN": "1", "SOFTRNIC_LANES": "many"})
    for words in ("unknown environment variable SOFTRNIC_EXPLIAN; did you mean SOFTRNIC_EXPLAIN?",
                  "SOFTRNIC_LANES=many is ignored"):
        if output.count(words) != 1 or status != 0:
            failures.append(f"\"{words}\" came {output.count(words)} times")
    status, output = host.run([program, "queries"], {"SOFTRNIC_FAULTS": "drop=1%,lose=2%"})
    words = "SOFTRNIC_FAULTS: \"lose\" is no fault; there are drop, dup, reorder, corrupt, delay and seed"
    if status == 0 or words not in output:
        failures.append(f"bad faults: status {status}, {output}")
    return failures, output


def chinese(host, program):
    """SOFTRNIC_LANG chooses what the program prints, and what `softrnic explain` says of it; not what is recorded."""
    failures = []
    chinese_words, english_words = "端口 2 不存在；设备只有端口 1", "port 2 does not exist; the device has port 1"
    _, output = host.run([program, "queries"], {"SOFTRNIC_EXPLAIN": "1", "SOFTRNIC_LANG": "zh"})
    told = "\n".join(words for _, _, words in printed(output))
    if chinese_words not in told or english_words in told:
        failures.append(f"the program did not say \"{chinese_words}\"")
    pid = re.search(r"^PID (\d+)", output, re.M)[1]
    for language, words in (("zh_CN.UTF-8", chinese_words), ("en", english_words)):
        _, text = host.run(["softrnic", "explain", "--pid", pid, "--all"], {"SOFTRNIC_LANG": language})
        if words not in text:
            failures.append(f"softrnic explain in {language} does not say \"{words}\" but:\n{text}")
    _, text = host.run(["softrnic", "dev"], {"SOFTRNIC_LANG": "tlh"})
    if text.count("SOFTRNIC_LANG=tlh is ignored") != 1:
        failures.append(f"of a language that is not there: {text}")
    return failures, output


def run_all(lab, options):
    host = lab.lone
    program = lab.build / "tests/interop/reasons"
    _, listing = host.run([program, "--list"])
    cases = [(name, dict([env.split("=", 1)]) if env else {})
             for name, _, env in (line.partition(" ") for line in listing.splitlines())]
    runs = [(name, lambda name=name, env=env: check(host, program, name, env)) for name, env in cases]
    runs.append(("settings", lambda: settings(host, program)))
    runs.append(("chinese", lambda: chinese(host, program)))
    if lab.pair:
        a, b = lab.pair
        runs.append(("pingpong_mtu", lambda: pingpong(
            a, b, (["-m", "256"], "which does not fit this QP's path MTU of 256"),
            (["-m", "1024", "-s", "1000"], "the peer refused the request at PSN"))))
    failed = []
    for name, run in runs:
        if not re.search(options.match, name):
            continue
        failures, output = run()
        print(f"{'FAILED' if failures else 'ok    '} {name}", flush=True)
        if failures or options.show:
            print("".join(f"       {line}\n" for failure in failures for line in failure.splitlines()) + output, flush=True)
        if failures:
            failed.append(name)
    print(f"{len(failed)} failed: {' '.join(failed)}" if failed else "all told")
    return 1 if failed or not cases else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--match", default="")
    parser.add_argument("--show", action="store_true", help="show what was printed, too")
    options = parser.parse_args()
    mode = lab_module.enter()
    if mode == "plain":
        print("skipped: this system allows no network namespaces")
        return 77
    with lab_module.Lab(mode, options.build) as lab:
        return run_all(lab, options)


if __name__ == "__main__":
    sys.exit(main())
