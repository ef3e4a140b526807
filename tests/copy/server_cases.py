"""What a server does not let happen, and what it outlives."""
import os
import re
import subprocess
import time

import trees
from file_cases import copy


def _still_serves(t, scene):
    (scene.home / "last").write_text("last")
    scene.give(scene.home / "last")
    copy(t, scene, scene.home / "last", "@:last")
    t.equal((scene.root / "last").read_text(), "last")


def stays_in_its_root(t, scene):
    secret = scene.folder / "secret"
    secret.write_text("secret")
    (scene.root / "link").symlink_to("../secret")
    (scene.root / "absolute").symlink_to(secret)
    (scene.root / "out").symlink_to("..")
    (scene.home / "evil").write_text("evil")
    scene.give(scene.folder)
    scene.serve(scene.root)
    for path in ("../secret", "a/../../secret", "/../secret"):
        t.true("no way out" in copy(t, scene, f"@:{path}", scene.home / "got", status=4))
        t.true("no way out" in copy(t, scene, scene.home / "evil", f"@:{path}", status=4))
    for path in ("link", "absolute", "out/secret"):
        copy(t, scene, f"@:{path}", scene.home / "got", status=1)
    copy(t, scene, scene.home / "evil", "@:out/secret", status=4)
    copy(t, scene, scene.home / "evil", "@:link", "-q")  # takes the place of the link, not of what it leads to
    t.equal(secret.read_text(), "secret")
    t.true(not (scene.home / "got").exists())
    copy(t, scene, "-r", "@:", scene.home / "all", status=1)
    found = [p for p in (scene.home / "all").rglob("*") if p.is_file()]
    t.true(all("secret" not in p.read_text() for p in found), found)
    _still_serves(t, scene)


def links_of_the_client_do_not_lead_out(t, scene):
    """A link that was uploaded, then a file to be put behind it."""
    (scene.home / "src").mkdir()
    (scene.home / "src/door").symlink_to(scene.folder)
    (scene.home / "file").write_text("evil")
    scene.give(scene.home)
    scene.serve(scene.root)
    t.true("--outside-links" in copy(t, scene, "-a", f"{scene.home}/src/", "@:", status=1))
    t.true(not (scene.root / "door").is_symlink())
    scene.stop()
    scene.serve("--outside-links", scene.root)
    copy(t, scene, "-a", f"{scene.home}/src/", "@:")
    t.true((scene.root / "door").is_symlink())
    copy(t, scene, scene.home / "file", "@:door/file", status=4)
    t.true(not (scene.folder / "file").exists())


def permissions(t, scene):
    (scene.home / "up").write_text("up")
    (scene.root / "down").write_text("down")
    scene.give(scene.home, scene.root)
    scene.serve("--read-only", scene.root)
    t.true("read-only" in copy(t, scene, scene.home / "up", "@:", status=4))
    copy(t, scene, "@:down", scene.home)
    scene.stop()
    scene.serve("--write-only", scene.root)
    t.true("write-only" in copy(t, scene, "@:down", scene.home, status=4))
    copy(t, scene, scene.home / "up", "@:")


def wrong_token(t, scene):
    (scene.home / "up").write_text("up")
    scene.give(scene.home)
    scene.serve(scene.root)
    other = scene.write_token("other", "some other token of the tests")
    status, output = scene.client("cp", "--port", scene.port, scene.home / "up", f"{scene.server_host.address[4]}:",
                                  token_file=other)
    t.equal(status, 4, output)
    t.equal(os.listdir(scene.root), [])
    _still_serves(t, scene)


def token_does_not_cross_the_wire(t, scene):
    (scene.home / "up").write_text("up")
    scene.give(scene.home)
    scene.serve(scene.root)
    capture = scene.home / "capture.pcapng"
    copy(t, scene, scene.home / "up", "@:", env={"SOFTRNIC_CAPTURE": str(capture)})
    bytes_of = capture.read_bytes()
    t.true(b"up" in bytes_of and b"srcp" in bytes_of, "the capture shows the greeting")
    t.true(b"token of the tests" not in bytes_of)


def told_token(t, scene):
    """Without a token file the server makes one."""
    scene.server = scene.server_host.start(["softrnic", "serve", "--port", "0", scene.root], {"XDG_CONFIG_HOME": "/nowhere"})
    t.true(scene.server.wait_for_output(r"listening on port (\d+)"), scene.server.output())
    scene.port = int(re.search(r"listening on port (\d+)", scene.server.output())[1])
    token = re.search(r"^token: (\S+)$", scene.server.output(), re.M)[1]
    told = scene.write_token("told", token)
    t.equal(scene.client("ping", "-c", "1", scene.address, token_file=told)[0], 0)
    t.equal(scene.client("ping", "-c", "1", scene.address)[0], 4)


def too_many_clients(t, scene):
    scene.serve("--max-clients", "1", scene.root)
    first = scene.client_host.start(["softrnic", "ping", "--token-file", scene.token_file, "-i", "0.05", scene.address])
    t.true(first.wait_for_output("seq=1"), first.output())
    status, output = scene.client("ping", "-c", "1", scene.address)
    t.equal(status, 3, output)
    first.end()
    t.true(scene.server.running)


def silent_client(t, scene):
    """Who connects and says nothing is let go, and takes nobody's place for long."""
    scene.serve("--max-clients", "1", "--greeting-time", "1", scene.root)
    mute = scene.client_host.start([f"{scene.lab.build}/tests/copy/mute", scene.server_host.address[4], scene.port])
    t.true(mute.wait_for_output("connected"), mute.output())
    t.equal(mute.wait(20), 0, mute.output())
    t.true("said nothing in time" in scene.server.output(), scene.server.output())
    _still_serves(t, scene)


def hostile_client(t, scene, count=150):
    """Knows the token, and sends what no client would send."""
    (scene.root / "d").mkdir()
    (scene.folder / "x").write_text("outside")
    scene.give(scene.folder)
    scene.serve(scene.root)
    status, output = scene.client_host.run([f"{scene.lab.build}/tests/copy/hostile", scene.server_host.address[4], scene.port,
                                            "a token of the tests", 1, count], timeout=1000)
    t.equal(status, 0, output)
    t.true(scene.server.running)
    t.equal(sorted(p.name for p in scene.folder.iterdir()), ["home", "root", "token", "x"])
    t.equal((scene.folder / "x").read_text(), "outside")
    _still_serves(t, scene)


def hostile_clients_for_long(t, scene):
    hostile_client(t, scene, 20_000)


hostile_clients_for_long.long = True


def disk_full(t, scene):
    """On a small tmpfs: an error that says so, the old file intact, and room again."""
    small = scene.root / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=777", "none", small], capture_output=True).returncode:
        t.skip("who is not root may not mount a small tmpfs")
    try:
        (small / "big").write_text("the old one")
        (scene.home / "big").write_bytes(trees.random_bytes(8, 20_000_000))
        (scene.home / "fits").write_bytes(trees.random_bytes(9, 100_000))
        scene.give(scene.home, scene.root)
        scene.serve(scene.root)
        said = copy(t, scene, scene.home / "big", scene.home / "fits", "@:small", status=1)
        t.true("big: No space left on device" in said, said)
        t.equal((small / "big").read_text(), "the old one")
        t.true((small / "fits").read_bytes() == (scene.home / "fits").read_bytes())
        t.equal(trees.leftovers(small), [])
        text = f"cat {scene.home}/big | softrnic cp -q --port {scene.port} --token-file {scene.token_file} - " \
               f"{scene.server_host.address[4]}:small/piped"
        status, said = scene.client_host.run(["sh", "-c", text], timeout=60)  # of unknown size: found out on the way
        t.equal(status, 1, said)
        t.true("No space left" in said, said)
        t.equal(trees.leftovers(small), [])
        _still_serves(t, scene)
    finally:
        scene.stop()
        subprocess.run(["umount", small], check=True)


def memory(t, scene):
    """Both ends stay far below 256 MiB, however large the file is."""
    with open(scene.home / "big", "wb") as file:
        for i in range(300):
            file.write(trees.random_bytes(i, 1 << 20))
    scene.give(scene.home)
    scene.serve(scene.root)
    client = scene.client_host.start(["softrnic", "cp", "-q", "--port", scene.port, "--token-file", scene.token_file,
                                      scene.home / "big", f"{scene.server_host.address[4]}:"])
    peak = 0
    while client.running:
        peak = max(peak, *(_peak_kib(p.process.pid) for p in (client, scene.server)))
        time.sleep(0.02)
    t.equal(client.wait(60), 0, client.output())
    t.true(0 < peak < 64 << 10, f"{peak} KiB")


def _peak_kib(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])
    except (OSError, TypeError):
        return 0


CASES = (stays_in_its_root, links_of_the_client_do_not_lead_out, permissions, wrong_token, token_does_not_cross_the_wire,
         told_token, too_many_clients, silent_client, hostile_client, hostile_clients_for_long, disk_full, memory)
