"""Copies that are killed, and what is left of them."""
import json
import random
import struct
import time

import trees
from file_cases import copy, expect_same

SIZE = 40_000_000


def _command(scene, *argv):
    return ["softrnic", "cp", "-q", "--port", scene.port, "--token-file", scene.token_file, *argv]


def _kill_some(t, scene, rounds, seed):
    """Kills the client, or the server, at random moments; then lets a copy come to its end."""
    dice = random.Random(seed)
    target = scene.root / "src"
    for number in range(rounds):
        options = ["-a"] + (["--resume"] if dice.random() < 0.8 else [])
        client = scene.client_host.start(_command(scene, *options, scene.home / "src", f"{scene.server_host.address[4]}:"))
        client.wait(dice.random() * 0.6)
        if dice.random() < 0.3:
            scene.server.process.kill()
            scene.server.wait(10)
            client.process.kill()
            client.end()
            scene.serve(scene.root)
        else:
            client.process.kill()
            client.end()
        for path in target.rglob("*") if target.exists() else ():
            if path.is_file() and not path.name.startswith(".softrnic-"):
                source = scene.home / "src" / path.relative_to(target)
                t.true(path.read_bytes() == source.read_bytes(), f"round {number}: half a file under its final name: {path}")
    status, output = scene.client_host.run(
        _command(scene, "-a", "--resume", scene.home / "src", f"{scene.server_host.address[4]}:"), timeout=100)
    t.equal(status, 0, output)
    expect_same(t, scene.home / "src", target)


def _source(scene):
    source = trees.make_small_files(scene.home / "src", 200, spread=5)
    (source / "big").write_bytes(trees.random_bytes(3, SIZE))
    (source / "another").write_bytes(trees.random_bytes(4, SIZE // 3))
    scene.give(scene.home)


def killed(t, scene):
    _source(scene)
    scene.serve(scene.root)
    _kill_some(t, scene, 8, 1)


def killed_200_times(t, scene):
    _source(scene)
    scene.serve(scene.root)
    for seed in range(10):
        _kill_some(t, scene, 10, seed)


killed_200_times.long = True  # 100 times in each of the two places


def _start_and_stop(t, scene, *options):
    """A slow copy of `big` that is ended politely in its midst."""
    client = scene.client_host.start(_command(scene, *options, "--bwlimit", "20M", scene.home / "big",
                                              f"{scene.server_host.address[4]}:"))
    deadline = time.monotonic() + 20
    while _written(scene.root, "--resume" in options) < 8 << 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    t.true(_written(scene.root, "--resume" in options) >= 8 << 20, "no part came")
    client.process.terminate()
    t.equal(client.wait(60), 130, client.output())


def _written(folder, has_journal):
    """Bytes of the one file that comes: what its journal says (docs/copy-protocol.md), else the size of the part."""
    for path in folder.glob(".softrnic-*.journal" if has_journal else ".softrnic-*.part"):
        try:
            return struct.unpack_from("<Q", path.read_bytes(), 20)[0] if has_journal else path.stat().st_size
        except (OSError, struct.error):
            pass
    return 0


def _wait_until_gone(scene):
    deadline = time.monotonic() + 60
    while "ended" not in scene.server.output() and time.monotonic() < deadline:
        time.sleep(0.02)


def uses_what_is_there(t, scene):
    (scene.home / "big").write_bytes(trees.random_bytes(5, SIZE))
    scene.give(scene.home)
    scene.serve(scene.root)
    _start_and_stop(t, scene, "--resume")
    _wait_until_gone(scene)
    report = json.loads(copy(t, scene, "--json", "--resume", scene.home / "big", "@:"))
    t.true(report["reused_bytes"] >= 8 << 20, report)
    t.equal(report["reused_bytes"] + report["bytes"], SIZE)
    t.true((scene.root / "big").read_bytes() == (scene.home / "big").read_bytes())
    t.equal(trees.leftovers(scene.root), [])
    report = json.loads(copy(t, scene, "--json", "--resume", scene.home / "big", "@:"))
    t.equal((report["bytes"], report["reused_bytes"]), (0, SIZE))


def uses_what_is_there_past_the_page_cache(t, scene):
    (scene.home / "big").write_bytes(trees.random_bytes(5, SIZE + 77))
    scene.give(scene.home)
    scene.serve(scene.root)
    _start_and_stop(t, scene, "--resume", "--direct-io", "always")
    _wait_until_gone(scene)
    report = json.loads(copy(t, scene, "--json", "--resume", "--direct-io", "always", "--verify", scene.home / "big", "@:"))
    t.true(report["reused_bytes"] >= 8 << 20, report)
    t.equal(report["reused_bytes"] + report["bytes"], SIZE + 77)
    t.true((scene.root / "big").read_bytes() == (scene.home / "big").read_bytes())
    t.equal(trees.leftovers(scene.root), [])


def does_not_trust_what_is_there(t, scene):
    """The part was damaged since, or the source has changed: the result is the source."""
    (scene.home / "big").write_bytes(trees.random_bytes(6, SIZE))
    scene.give(scene.home)
    scene.serve(scene.root)
    _start_and_stop(t, scene, "--resume")
    _wait_until_gone(scene)
    part, = scene.root.glob(".softrnic-*.part")
    with open(part, "r+b") as file:
        file.seek(1_000_000)
        file.write(b"damage")
    report = json.loads(copy(t, scene, "--json", "--resume", scene.home / "big", "@:"))
    t.equal(report["failures"], 0)
    t.true((scene.root / "big").read_bytes() == (scene.home / "big").read_bytes())
    with open(scene.root / "big", "r+b") as file:  # the same size, other bytes
        file.write(b"damage")
    copy(t, scene, "--resume", scene.home / "big", "@:")
    t.true((scene.root / "big").read_bytes() == (scene.home / "big").read_bytes())
    t.equal(trees.leftovers(scene.root), [])


def leaves_the_old_file(t, scene):
    """Ctrl-C without --resume: the old file is there, and nothing else."""
    (scene.home / "big").write_bytes(trees.random_bytes(7, SIZE))
    (scene.root / "big").write_text("the old one")
    scene.give(scene.home, scene.root)
    scene.serve(scene.root)
    _start_and_stop(t, scene)
    _wait_until_gone(scene)
    t.equal((scene.root / "big").read_text(), "the old one")
    t.equal(trees.leftovers(scene.root), [])


CASES = (killed, killed_200_times, uses_what_is_there, uses_what_is_there_past_the_page_cache, does_not_trust_what_is_there,
         leaves_the_old_file)
