"""Source trees for the tests, and the comparison of a copy with its source."""
import ctypes
import mmap
import os
import pathlib
import random
import stat

ODD_NAMES = ["two words", "new\nline", "tab\there", "ünïcödé", "日本語", "-dash", "*star?", "quote'\"", "back\\slash", ".hidden",
             "n" * 255, "é" * 127, "trailing ", "$HOME", ";semi", "\x01control"]


def random_bytes(seed, size):
    return random.Random(seed).randbytes(size)


def make_odd_tree(folder):
    """Odd names, empty files, links, modes and times, directories that are hard to write to."""
    folder.mkdir()
    for i, name in enumerate(ODD_NAMES):
        (folder / name).write_bytes(random_bytes(i, i * 777))
    os.close(os.open(os.fsencode(folder) + b"/not-\xff-utf8", os.O_CREAT | os.O_WRONLY, 0o600))
    deep = folder
    for i in range(30):
        deep = deep / f"deep {i}"
        deep.mkdir()
        (deep / "file").write_text(str(i))
    (folder / "empty").touch()
    (folder / "empty dir").mkdir()
    (folder / "link").symlink_to("two words")
    (folder / "dangling").symlink_to("no such thing")
    (folder / "up").symlink_to("../..")
    (folder / "absolute").symlink_to("/etc/passwd")
    for mode in (0o400, 0o600, 0o755, 0o444, 0o4711):
        path = folder / f"mode {mode:o}"
        path.write_text("x")
        path.chmod(mode)
    closed = folder / "closed"
    closed.mkdir()
    (closed / "inner").write_text("inner")
    closed.chmod(0o555)
    for size in (1, 4095, 4096, 4097, 380927, 380928, 380929, 3_000_000):
        (folder / f"size {size}").write_bytes(random_bytes(size, size))
    for i, path in enumerate(sorted(folder.rglob("*"))):
        os.utime(path, ns=(1, 1_000_000_000_123_456_789 + i), follow_symlinks=False)
    os.utime(folder, ns=(1, 1_234_567_890_987_654_321))
    return folder


def make_small_files(folder, count, size=100, spread=100):
    """`count` files in `spread` directories."""
    folder.mkdir()
    for i in range(count):
        if i < spread:
            (folder / f"d{i}").mkdir()
        (folder / f"d{i % spread}" / f"f{i}").write_bytes(b"%d." % i * (size // 6))
    return folder


def _entries(folder):
    found = {}
    for base, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            path = os.path.join(base, name)
            found[os.path.relpath(path, os.fsencode(folder))] = path
    return found


def _same_bytes(a, b):
    with open(a, "rb") as one, open(b, "rb") as other:
        while True:
            x, y = one.read(1 << 20), other.read(1 << 20)
            if x != y:
                return False
            if not x:
                return True


def differences(source, copy, attributes=True):
    """A list of sentences; empty when the copy is right."""
    wanted, got = _entries(source), _entries(copy)
    found = [f"missing: {p!r}" for p in wanted.keys() - got.keys()] + [f"stray: {p!r}" for p in got.keys() - wanted.keys()]
    for path in sorted(wanted.keys() & got.keys()):
        a, b = os.lstat(wanted[path]), os.lstat(got[path])
        if stat.S_IFMT(a.st_mode) != stat.S_IFMT(b.st_mode):
            found.append(f"another kind: {path!r}")
        elif stat.S_ISLNK(a.st_mode):
            if os.readlink(wanted[path]) != os.readlink(got[path]):
                found.append(f"another target: {path!r}")
        elif stat.S_ISREG(a.st_mode) and not _same_bytes(wanted[path], got[path]):
            found.append(f"other bytes: {path!r}")
        if attributes and not stat.S_ISLNK(a.st_mode) and stat.S_IMODE(a.st_mode) != stat.S_IMODE(b.st_mode):
            found.append(f"mode {b.st_mode:o} instead of {a.st_mode:o}: {path!r}")
        if attributes and a.st_mtime_ns != b.st_mtime_ns:
            found.append(f"time: {path!r}")
    return found


def cached_share(path):
    """How much of a file's pages the page cache holds, from 0 to 1."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        pages = (ctypes.c_ubyte * ((len(mapped) + mmap.PAGESIZE - 1) // mmap.PAGESIZE))()
        view = (ctypes.c_char * len(mapped)).from_buffer(mapped)
        error = ctypes.CDLL(None, use_errno=True).mincore(ctypes.byref(view), ctypes.c_size_t(len(mapped)), pages)
        del view
    if error:
        raise OSError(ctypes.get_errno(), "mincore")
    return sum(page & 1 for page in pages) / len(pages)


def drop_from_cache(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def obstacle_to_direct_io(folder):
    """Why the tests cannot see there that files go past the page cache; empty when they can."""
    path, page = folder / "probe", mmap.mmap(-1, mmap.PAGESIZE)
    try:
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600)
        os.write(file, page)
        os.close(file)
        return "" if cached_share(path) == 0 else "the file system caches what is written with O_DIRECT"
    except OSError as error:
        return f"the file system has no O_DIRECT: {error}"
    finally:
        path.unlink(missing_ok=True)


def leftovers(folder):
    """Temporary files of a copy."""
    return [str(p) for p in pathlib.Path(folder).rglob(".softrnic-*")]
