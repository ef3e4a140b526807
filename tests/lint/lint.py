"""Checks the repository against STYLE.md: lint.py [--root FOLDER]. Prints findings as PATH:LINE: rule: message."""
import argparse
import os
import pathlib
import re
import subprocess
import sys

import rules
import translation

# Data, not prose or code: other people's bytes and lists are kept as they are.
DATA = re.compile(r"(^|/)(golden|corpus|seeds)/|\.pcap(ng)?$|^tests/abi/.*\.(txt|list)$|^LICENSE|\.(bin|png|svg)$")


def files_of(root):
    """Tracked and new files when `root` is a git work tree, else all files outside build/."""
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, check=True).stdout.decode().split("\0")
        if any(listed):
            return sorted(p for p in set(listed) if p and os.path.isfile(os.path.join(root, p)))
    except (OSError, subprocess.CalledProcessError):
        pass
    found = []
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in ("build", ".git", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


def is_excused(source, line, rule):
    text = source.lines[line - 1] if line <= len(source.lines) else ""
    return re.search(rf"NOLINT\({re.escape(rule)}\): \S+", text) is not None


def lint(root):
    """All findings: (path, line, rule, message)."""
    root = pathlib.Path(root)
    paths = files_of(str(root))
    known = set(paths)
    layers_file = root / "src/CMakeLists.txt"
    layers = rules.Layers(layers_file.read_text() if layers_file.exists() else "")
    across = (rules.Tables(), rules.CitedTests(), rules.Suppressions(), translation.Documents(), translation.Rows())
    for path in paths:
        if DATA.search(path):
            continue
        try:
            source = rules.Source(path, (root / path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            yield path, 1, "utf-8", "not UTF-8 text"
            continue
        for rule in across:
            rule.see(source)
        findings = [finding for rule in rules.FILE_RULES for finding in rule(source)]
        findings += layers.check(source, known.__contains__)
        for line, rule, message in sorted(findings):
            if not is_excused(source, line, rule):
                yield path, line, rule, message
    for rule in across:
        yield from rule.findings()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=str(pathlib.Path(__file__).resolve().parents[2]))
    findings = list(lint(parser.parse_args().root))
    for path, line, rule, message in findings:
        print(f"{path}:{line}: {rule}: {message}")
    print(f"{len(findings)} findings" if findings else "no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
