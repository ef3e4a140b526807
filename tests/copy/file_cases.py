"""Copies, byte for byte."""
import json
import os
import time

import trees


def copy(t, scene, *argv, status=0, env=None, timeout=120):
    """softrnic cp ARGV, where "@" stands for the server. Its output."""
    words = [w.replace("@:", f"{scene.server_host.address[4]}:") for w in map(str, argv)]
    got, output = scene.client("cp", "--port", scene.port, *words, env=env, timeout=timeout)
    t.equal(got, status, output)
    return output


def expect_same(t, source, target, attributes=True):
    t.equal(trees.differences(source, target, attributes), [])
    t.equal(trees.leftovers(target), [])


def odd_tree_up(t, scene):
    scene.give(trees.make_odd_tree(scene.home / "src"))
    scene.serve("--outside-links", scene.root)
    copy(t, scene, "-a", "--verify", scene.home / "src", "@:")
    expect_same(t, scene.home / "src", scene.root / "src")


def odd_tree_down(t, scene):
    scene.give(trees.make_odd_tree(scene.root / "src"))
    scene.serve("--read-only", scene.root)
    copy(t, scene, "-a", "--outside-links", "--verify", "@:src", scene.home)
    expect_same(t, scene.root / "src", scene.home / "src")


def destinations(t, scene):
    """A new name, a directory, many sources, contents: what cp and rsync do."""
    for name in ("one", "two"):
        (scene.home / name).write_text(name)
    (scene.home / "dir").mkdir()
    (scene.home / "dir/inner").write_text("inner")
    (scene.root / "there").mkdir()
    scene.give(scene.home, scene.root)
    scene.serve(scene.root)
    copy(t, scene, scene.home / "one", "@:renamed")
    copy(t, scene, scene.home / "one", "@:there")
    copy(t, scene, scene.home / "one", scene.home / "two", "@:both")
    copy(t, scene, "-r", scene.home / "dir", "@:newdir")
    copy(t, scene, "-r", scene.home / "dir", "@:there")
    copy(t, scene, "-r", f"{scene.home}/dir/", "@:/there/contents/")
    found = {str(p.relative_to(scene.root)): p.read_text() for p in scene.root.rglob("*") if p.is_file()}
    t.equal(found, {"renamed": "one", "there/one": "one", "both/one": "one", "both/two": "two", "newdir/inner": "inner",
                    "there/dir/inner": "inner", "there/contents/inner": "inner"})
    copy(t, scene, "@:there/one", scene.home / "back")
    copy(t, scene, "@:there/one", "@:both/two", scene.home / "many")
    copy(t, scene, "-r", "@:", scene.home / "all")
    t.equal((scene.home / "back").read_text(), "one")
    t.equal((scene.home / "many/two").read_text(), "two")
    expect_same(t, scene.root, scene.home / "all", attributes=False)


def sparse(t, scene):
    """1 TiB of holes with a few bytes in them."""
    with open(scene.home / "sparse", "wb") as file:
        file.truncate(1 << 40)
        for offset in (0, 123_456_789_012, (1 << 40) - 5):
            os.pwrite(file.fileno(), b"bytes", offset)
    scene.give(scene.home)
    scene.serve(scene.root)
    copy(t, scene, scene.home / "sparse", "@:")
    info = os.stat(scene.root / "sparse")
    t.equal(info.st_size, 1 << 40)
    t.true(info.st_blocks * 512 < 1 << 20, f"{info.st_blocks} blocks")
    with open(scene.root / "sparse", "rb") as file:
        for offset in (0, 123_456_789_012, (1 << 40) - 5):
            t.equal(os.pread(file.fileno(), 5, offset), b"bytes")
        t.true(os.lseek(file.fileno(), 1 << 16, os.SEEK_DATA) > 1 << 30, "the hole is a hole")


def direct_io(t, scene):
    """Past the page cache, at both ends: the bytes are the same, and the cache is as it was."""
    (scene.home / "src").mkdir()
    for size in (0, 1, 4095, 4096, 4097, 380927, 380928, 380929, (1 << 20) + 1, 8 << 20):
        (scene.home / f"src/size {size}").write_bytes(trees.random_bytes(size, size))
    with open(scene.home / "src/sparse", "wb") as file:
        file.truncate(1 << 26)
        for offset, length in ((0, 4096), (12_345_678, 3), (1 << 25, 300_000), ((1 << 26) - 5, 5)):
            os.pwrite(file.fileno(), trees.random_bytes(offset, length), offset)
    scene.give(scene.home)
    obstacle = trees.obstacle_to_direct_io(scene.root)
    scene.serve(scene.root)
    big = scene.home / f"src/size {8 << 20}"
    trees.drop_from_cache(big)
    copy(t, scene, "-a", "--direct-io", "always", "--verify", scene.home / "src", "@:")
    copied = scene.root / "src" / big.name
    shares = [] if obstacle else [trees.cached_share(path) for path in (big, copied)]
    expect_same(t, scene.home / "src", scene.root / "src")
    t.true(os.stat(scene.root / "src/sparse").st_blocks * 512 < 1 << 20, "the holes are holes")
    copy(t, scene, "-a", "--direct-io", "always", "@:src", scene.home / "back")
    expect_same(t, scene.home / "src", scene.home / "back")
    if obstacle:
        t.skip(f"the bytes are right; {obstacle}")
    t.equal(shares, [0, 0], "shares of the source and of the copy that the cache holds")
    copy(t, scene, "--direct-io", "never", big, "@:cached")
    t.equal(trees.cached_share(scene.root / "cached"), 1)


def small_files(t, scene, count=3000):
    scene.give(trees.make_small_files(scene.home / "src", count))
    scene.serve(scene.root)
    output = copy(t, scene, "-r", "--json", scene.home / "src", "@:", timeout=300)
    t.equal(json.loads(output)["files"], count)
    expect_same(t, scene.home / "src", scene.root / "src", attributes=False)


def small_files_100000(t, scene):
    small_files(t, scene, 100_000)


small_files_100000.long = True


def pipes(t, scene):
    data = trees.random_bytes(1, 5_000_001)
    (scene.home / "data").write_bytes(data)
    scene.give(scene.home)
    scene.serve(scene.root)
    where = f"{scene.server_host.address[4]}:piped"
    command = ("cat {home}/data | softrnic cp -q --port {port} --token-file {token} - {where} && "
               "softrnic cp -q --port {port} --token-file {token} {where} - > {home}/back")
    text = command.format(home=scene.home, port=scene.port, token=scene.token_file, where=where)
    t.equal(scene.client_host.run(["sh", "-c", text], timeout=60), (0, ""))
    t.true((scene.root / "piped").read_bytes() == data and (scene.home / "back").read_bytes() == data)


def filters(t, scene):
    for name in ("src/a.c", "src/a.o", "src/keep.o", "src/build/x", "src/deep/build/y", "src/deep/b.o", "src/deep/c"):
        path = scene.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    scene.give(scene.home)
    scene.serve(scene.root)
    copy(t, scene, "-r", "--include", "keep.o", "--exclude", "*.o", "--exclude", "/src/build/", scene.home / "src", "@:")
    found = sorted(str(p.relative_to(scene.root)) for p in scene.root.rglob("*") if p.is_file())
    t.equal(found, ["src/a.c", "src/deep/build/y", "src/deep/c", "src/keep.o"])


def delete_and_update(t, scene):
    for place in (scene.home / "src", scene.root / "dst"):
        place.mkdir()
    (scene.home / "src/new").write_text("new")
    (scene.home / "src/old").write_text("source")
    (scene.root / "dst/old").write_text("newer here")
    (scene.root / "dst/stray dir").mkdir()
    (scene.root / "dst/stray dir/file").write_text("x")
    (scene.root / "dst/kept.o").write_text("protected")
    os.utime(scene.home / "src/old", (1000, 1000))
    scene.give(scene.home, scene.root)
    scene.serve(scene.root)
    options = ("-a", "--update", "--delete", "--exclude", "*.o")
    before = sorted(os.listdir(scene.root / "dst"))
    said = copy(t, scene, *options, "--dry-run", f"{scene.home}/src/", "@:dst")
    t.equal(sorted(os.listdir(scene.root / "dst")), before)
    t.true("would copy new" in said and "would delete stray dir" in said and "would copy old" not in said, said)
    copy(t, scene, *options, f"{scene.home}/src/", "@:dst")
    t.equal(sorted(os.listdir(scene.root / "dst")), ["kept.o", "new", "old"])
    t.equal((scene.root / "dst/old").read_text(), "newer here")


def bandwidth_limit(t, scene):
    (scene.home / "data").write_bytes(bytes(3 << 20))
    scene.give(scene.home)
    scene.serve(scene.root)
    begin = time.monotonic()
    copy(t, scene, "--bwlimit", "2M", scene.home / "data", "@:")
    t.true(time.monotonic() - begin > 1.3, "3 MiB at 2 MiB a second")


def faults(t, scene):
    """Loss and corruption on the way: slower, never wrong."""
    (scene.home / "data").write_bytes(trees.random_bytes(2, 20_000_000))
    scene.give(trees.make_small_files(scene.home / "src", 300))
    scene.give(scene.home)
    bad = {"SOFTRNIC_FAULTS": "drop=1%,corrupt=1%,dup=1%,reorder=1%,seed=5"}
    scene.serve(scene.root, env=bad)
    copy(t, scene, "-r", scene.home / "src", scene.home / "data", "@:", env=bad, timeout=200)
    copy(t, scene, "-r", "@:", scene.home / "back", env=bad, timeout=200)
    expect_same(t, scene.root, scene.home / "back", attributes=False)
    t.true((scene.root / "data").read_bytes() == (scene.home / "data").read_bytes())
    expect_same(t, scene.home / "src", scene.root / "src", attributes=False)


def queue_pairs(t, scene):
    """Frames over several queue pairs: in their order again, and from all of them."""
    (scene.home / "data").write_bytes(trees.random_bytes(3, 10_000_000))
    scene.give(trees.make_small_files(scene.home / "src", 300))
    scene.give(scene.home)
    scene.serve(scene.root)
    os.mkfifo(scene.home / "go", 0o666)
    text = (f"(read -r _ <{scene.home}/go; cat {scene.home}/data) | softrnic cp -q --queue-pairs 3 --port {scene.port} "
            f"--token-file {scene.token_file} - {scene.server_host.address[4]}:held")
    held = scene.client_host.start(["sh", "-c", text])
    go = os.open(scene.home / "go", os.O_RDWR)
    try:
        wanted = 6 if scene.client_host is scene.server_host else 3
        t.true(held.wait_until(lambda: _connected_queue_pairs(scene.client_host) == wanted), held.output())
        os.write(go, b"\n")
        t.equal(held.wait(60), 0, held.output())
    finally:
        os.close(go)
        held.end()
    os.unlink(scene.home / "go")
    t.true((scene.root / "held").read_bytes() == (scene.home / "data").read_bytes())
    for count in (2, 5, 8):
        target = scene.root / str(count)
        copy(t, scene, "-r", "--queue-pairs", count, scene.home / "src", scene.home / "data", f"@:{count}/")
        copy(t, scene, "-r", "--queue-pairs", count, f"@:{count}/", scene.home / f"back{count}")
        expect_same(t, scene.home / "src", target / "src", attributes=False)
        expect_same(t, target, scene.home / f"back{count}", attributes=False)
        t.true((target / "data").read_bytes() == (scene.home / "data").read_bytes())


def _connected_queue_pairs(host):
    status, output = host.run(["softrnic", "--json", "resource", "show", "qp"])
    return sum(row["type"] == "RC" and row["state"] == "RTS" for row in json.loads(output)) if status == 0 else -1


def queue_pairs_on_a_bad_network(t, scene):
    """One queue pair goes on while another repeats: frames come out of their order."""
    (scene.home / "data").write_bytes(trees.random_bytes(2, 30_000_000))
    scene.give(scene.home)
    bad = {"SOFTRNIC_FAULTS": "drop=1%,reorder=1%,seed=6", "SOFTRNIC_PATH": "wire"}
    scene.serve(scene.root, env=bad)
    copy(t, scene, "--queue-pairs", "4", scene.home / "data", "@:", env=bad, timeout=200)
    copy(t, scene, "--queue-pairs", "4", "@:data", scene.home / "back", env=bad, timeout=200)
    for path in (scene.root / "data", scene.home / "back"):
        t.true(path.read_bytes() == (scene.home / "data").read_bytes())


def some_fail(t, scene):
    """What cannot be read or written is told, the rest is copied, and the exit code says so."""
    for name in ("a", "secret", "z"):
        (scene.home / name).write_text(name)
    (scene.root / "a").mkdir()  # in the way of a file
    (scene.root / "a/inner").touch()
    scene.give(scene.home, scene.root)
    (scene.home / "secret").chmod(0)
    scene.serve(scene.root)
    said = copy(t, scene, scene.home / "a", scene.home / "secret", scene.home / "gone", scene.home / "z", "@:", status=1)
    for word in ("a: Is a directory", "secret: Permission denied", "gone: No such file"):
        t.true(word in said, said)
    t.equal((scene.root / "z").read_text(), "z")
    t.equal(trees.leftovers(scene.root), [])


CASES = (odd_tree_up, odd_tree_down, destinations, sparse, direct_io, small_files, small_files_100000, pipes, filters, delete_and_update,
         bandwidth_limit, faults, queue_pairs, queue_pairs_on_a_bad_network, some_fail)
