"""What STYLE.md asks for and a machine can see: one table of banned text, and the rules about structure.

Every rule is a function (source) → findings; a finding is (line, rule, message). A line that has to break a rule says
so where it stands: NOLINT(rule): reason.
"""
import ast
import pathlib
import re

import cpp_text
import translation

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 110
LONGER_FILES = {}  # path → reason; empty, and meant to stay so
FREE_SIZE = (".md", ".def", ".txt", ".json", ".pcap", ".yml")

# rule, pattern, folders it holds in, folders it does not, what to do instead
BANNED = (
    ("no-abort", r"\b(?:std::)?(?:abort|exit|quick_exit|terminate)\s*\(", ["src"], [], "return an error with a reason"),
    ("no-assert", r"(?<!_)\bassert\s*\(", ["src"], [], "return an error, or static_assert"),
    ("no-throw", r"\bthrow\b", ["src"], [], "return Expected"),
    ("no-stdout", r"\b(?:std::)?(?:printf|puts|putchar|vprintf)\s*\(|\bstdout\b|\bstd::c(?:out|err|log)\b|<iostream>",
     ["src"], ["src/cli", "src/daemon"], "a library does not write to its program's output; explain() a reason"),
    ("no-sleep", r"\b(?:sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\(", ["src", "tests", "fuzz"], [],
     "wait for the event itself"),
    ("no-rand", r"\b(?:std::)?(?:rand|srand|random|drand48|random_device)\s*\(|\bstd::(?:rand\b|random_device)", ["src"],
     [], "take the number from the context that the caller provides"),
    ("no-wall-clock", r"\bsystem_clock\b|\bCLOCK_(?:REALTIME\w*|TAI)\b|\b(?:gettimeofday|ftime|pthread_cond_timedwait"
     r"|pthread_mutex_timedlock|sem_timedwait|mq_timed\w+)\s*\(|\btime\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)", ["src"], [],
     "it jumps when somebody sets it: measure by CLOCK_MONOTONIC; where people are shown a time, say so"),
    ("no-thread", r"\bstd::(?:thread\s*[({&>\w]|jthread|async\s*\()|\bpthread_create\s*\(", ["src"],
     ["src/engine", "src/daemon", "src/copy"], "threads belong to the engine"),
    ("no-unsafe-c", r"\b(?:strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|atoi|atol)\s*\(", ["src", "tests", "fuzz"],
     [], "use a bounded or checked form"),
    ("no-open-work", r"\b(?:TODO|FIXME|XXX|HACK)\b", ["src", "tests", "fuzz", "bench", "scripts", "cmake"], ["tests/lint"],
     "do it, or open an issue"),
    ("no-machine-path", r"(?<![\w.])/(?:work|root|home/\w+)/", [""], [], "no paths of one machine in the repository"),
)
CPP = (".h", ".cc", ".c")


class Source:
    """One file: its path relative to the repository, its text, and (for C++) its text without comments and literals."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.suffix = pathlib.PurePath(path).suffix
        self.is_cpp = self.suffix in CPP
        self.code = cpp_text.blank(text) if self.is_cpp else text

    def inside(self, folders):
        return any(not f or self.path.startswith(f + "/") for f in folders)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_text(source):
    for number, line in enumerate(source.lines, 1):
        if "\t" in line:
            yield number, "no-tab", "tab"
        if line != line.rstrip():
            yield number, "no-trailing-space", "space at the end of the line"
    if source.text and not source.text.endswith("\n"):
        yield len(source.lines), "final-newline", "the last line has no line break"
    if source.text.endswith("\n\n"):
        yield len(source.lines) - 1, "final-newline", "empty lines at the end"


def check_banned(source):
    for rule, pattern, folders, except_folders, advice in BANNED:
        if not source.inside(folders) or source.inside(except_folders):
            continue
        comments_too = rule in ("no-open-work", "no-machine-path")
        if not comments_too and not source.is_cpp:
            continue
        text = source.text if comments_too else source.code
        for match in re.finditer(pattern, text):
            yield line_of(text, match.start()), rule, f"{match.group().strip()}: {advice}"


def check_file_length(source):
    count = len(source.lines) - 1
    if count > MAX_FILE_LINES and source.suffix not in FREE_SIZE and source.path not in LONGER_FILES:
        yield MAX_FILE_LINES, "file-length", f"{count} lines; at most {MAX_FILE_LINES}: give a subject its own file"


def check_line_length(source):
    if not source.is_cpp:
        return
    for number, line in enumerate(source.lines, 1):
        width = translation.columns(line)
        if width > MAX_COLUMNS and '"' not in line:  # a string may be longer: it is what users read
            yield number, "line-length", f"{width} columns; at most {MAX_COLUMNS}"


def check_function_length(source):
    if source.is_cpp:
        found = cpp_text.functions(source.code)
    elif source.suffix == ".py":
        nodes = (n for n in ast.walk(ast.parse(source.text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
        found = ((n.lineno, n.end_lineno, n.name) for n in nodes)
    else:
        return
    for first, last, head in found:
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield first, "function-length", f"{last - first + 1} lines; at most {MAX_FUNCTION_LINES}: {head[:60]}"


def check_header(source):
    if source.suffix != ".h":
        return
    if not source.text.startswith("//"):
        yield 1, "header-comment", "a header begins with a comment: what it is for, its contract"
    if "#pragma once" not in source.text:
        yield 1, "pragma-once", "no #pragma once"
    for match in re.finditer(r"^using namespace\b", source.code, re.M):
        yield line_of(source.code, match.start()), "using-namespace", "in a header"


def check_names(source):
    name = pathlib.PurePath(source.path).name
    if source.is_cpp and not re.fullmatch(r"[a-z0-9_]+\.(h|cc|c)", name):
        yield 1, "file-name", "snake_case, .h, .cc or .c"


class Layers:
    """The order of the layers, lowest first, read from the one place where it stands: src/CMakeLists.txt."""

    def __init__(self, cmake_text):
        self.order = re.findall(r"^\s*add_subdirectory\((\w+)\)", cmake_text, re.M)

    def of(self, path):
        parts = path.split("/")
        return parts[1] if len(parts) > 2 and parts[0] == "src" else None

    def check(self, source, exists):
        """`exists(path)`: whether the repository has the file."""
        if not source.is_cpp:
            return
        own = self.of(source.path)
        text = cpp_text.blank(source.text, keep_strings=True)
        for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', text, re.M):
            line, target = line_of(text, match.start()), match.group(1)
            layer = target.split("/")[0]
            if own is None:
                continue
            if layer not in self.order:
                if not target.endswith(".inc"):
                    yield line, "include-path", f'"{target}": include paths are relative to src/'
            elif self.order.index(layer) > self.order.index(own):
                yield line, "layer-order", f'{own} includes "{target}": {layer} lies above it'
            elif not exists("src/" + target):
                yield line, "include-path", f'"{target}": no such file in src/'


class Tables:
    """What stands in a table of names (X-macros) is used by the product: a reason that nobody gives helps nobody."""

    TABLES = {"src/base/reasons.def": r"^SOFTRNIC_REASON\((\w+),", "src/base/later_verbs.def": r"^SOFTRNIC_LATER_VERB\((\w+)\)"}
    FREE = {"none"}

    def __init__(self):
        self.rows = {}  # name → (path, line)
        self.words = set()

    def see(self, source):
        if source.path in self.TABLES:
            for match in re.finditer(self.TABLES[source.path], source.text, re.M):
                self.rows[match.group(1)] = source.path, line_of(source.text, match.start())
        elif source.is_cpp and source.path.startswith("src/"):
            self.words.update(re.findall(r"(?:ReasonId|LaterVerb)::(\w+)", source.code))

    def findings(self):
        for name, (path, line) in self.rows.items():
            if name not in self.words and name not in self.FREE:
                yield path, line, "unused-row", f"{name} is used nowhere in src/: use it or remove it"


class CitedTests:
    """What a document says is tested has a test of that name: `Suite.Case`, `fuzz_NAME`, or a test of CTest."""

    DOCUMENTS = ("docs/security.md",)
    CITED = re.compile(r"`((?:[A-Z]\w+\.[A-Z]\w+)|(?:(?:fuzz|interop|robust)_\w+))`")

    def __init__(self):
        self.cited = []  # (name, path, line)
        self.there = set()

    def see(self, source):
        if source.path in self.DOCUMENTS:
            self.cited += [(m.group(1), source.path, line_of(source.text, m.start()))
                           for m in self.CITED.finditer(source.text)]
        elif source.is_cpp:
            self.there.update(".".join(names) for names in re.findall(r"\bTEST(?:_[FP])?\((\w+),\s*(\w+)\)", source.code))
            if source.path.startswith("fuzz/"):
                self.there.add(pathlib.PurePath(source.path).stem)
        elif source.path.endswith("CMakeLists.txt"):
            self.there.update(re.findall(r"\b(?:NAME |softrnic_(?:robust|interop)_\w+\()(\w+)", source.text))

    def findings(self):
        for name, path, line in self.cited:
            if name not in self.there:
                yield path, line, "cited-test", f"{name}: there is no such test"


class Suppressions:
    """A line that hides reports of a sanitizer names what is there: after a renaming it would hide nothing."""

    FUNCTION = re.compile(r"^race:\^?softrnic::([\w:]+)", re.M)

    def __init__(self):
        self.named = []  # (words, path, line)
        self.words = set()

    def see(self, source):
        if source.path.endswith(".supp"):
            self.named += [(m.group(1).split("::"), source.path, line_of(source.text, m.start()))
                           for m in self.FUNCTION.finditer(source.text)]
        elif source.is_cpp and source.path.startswith("src/"):
            self.words.update(re.findall(r"\w+", source.code))

    def findings(self):
        for words, path, line in self.named:
            if not self.words.issuperset(words):
                yield path, line, "suppression", f"{'::'.join(words)}: there is no such function in src/"


FILE_RULES = (check_text, check_banned, check_file_length, check_line_length, check_function_length, check_header, check_names,
              translation.check_typography)
