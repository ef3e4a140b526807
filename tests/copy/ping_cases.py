"""`softrnic ping`."""
import json
import time


def answers(t, scene):
    scene.serve()
    status, output = scene.client("ping", "-c", "20", "-i", "0", "--json", scene.address)
    t.equal(status, 0, output)
    report = json.loads(output)
    t.equal(report["answered"], 20)
    for kind in ("send/recv", "read"):
        figures = [report[kind][name] for name in ("min", "p50", "p90", "p99", "max")]
        t.equal(figures, sorted(figures))
        t.true(0 < figures[0], output)


def text(t, scene):
    scene.serve()
    status, output = scene.client("ping", "-c", "2", "-i", "0.01", "-s", "400", scene.address)
    t.equal(status, 0, output)
    for part in ("seq=2 send/recv=", "2 exchanges begun, 2 answered", "p99.9"):
        t.true(part in output, output)


def once(t, scene):
    scene.serve("--once")
    t.equal(scene.client("ping", "-c", "1", scene.address)[0], 0)
    t.equal(scene.server.wait(60), 0, scene.server.output())


def wrong_token(t, scene):
    scene.serve("--once")
    other = scene.write_token("other", "some other token of the tests")
    status, output = scene.client("ping", "-c", "1", scene.address, token_file=other)
    t.equal(status, 4, output)
    t.true("wrong token" in output, output)
    t.true(scene.server.running, "a stranger does not use up --once")
    t.equal(scene.client("ping", "-c", "1", scene.address)[0], 0)


def nobody_there(t, scene):
    scene.serve()
    address = scene.address
    scene.stop()
    status, output = scene.client("ping", "-c", "1", address)
    t.equal(status, 3, output)
    t.true("softrnic serve" in output, output)


def _shown(scene, words, wanted):
    """What `softrnic WORDS` says once it tells of `wanted`: a process publishes its queue pairs now and then."""
    deadline = time.monotonic() + 60
    while True:
        status, output = scene.client_host.run(["softrnic", *words])
        if wanted in output or status != 0 or time.monotonic() > deadline:
            return status, output


def foreign_process_names(t, scene):
    """A process calls itself what a terminal would act upon; those who look at it see that, and nothing more."""
    evil = scene.home / "\x1b[7m\u202eevil"
    evil.symlink_to(scene.lab.build / "bin/softrnic")
    scene.serve(scene.root)
    client = scene.client_host.start([evil, "ping", "--token-file", scene.token_file, "-i", "0.05", scene.address])
    t.true(client.wait_for_output("seq=1"), client.output())
    for words in (["stat"], ["resource", "show", "qp"], ["resource", "show", "cm_id"], ["--json", "stat"]):
        status, output = _shown(scene, words, "evil")
        t.equal(status, 0, output)
        t.true("evil" in output, f"{words}: {output}")
        t.true("\x1b" not in output and "\u202e" not in output, repr(output))
    client.end()


CASES = (foreign_process_names, answers, text, once, wrong_token, nobody_there)
