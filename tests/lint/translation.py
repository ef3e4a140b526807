"""That a translation says what its original says, as far as a machine can see, and the typography of Chinese text.

README.zh-CN.md has the headings, commands, code, links and figures of README.md, in the same places; reasons_zh.def the
rows of reasons.def. Whoever changes one of them changes the other.
"""
import collections
import re
import unicodedata

HAN = r"[\u3400-\u9fff]"
CROWDED = re.compile(rf"{HAN}[A-Za-z0-9{{`]|[A-Za-z0-9}}`]{HAN}")
NARROW = re.compile(rf"{HAN}[,;:!?().]|[,;:!?()]{HAN}")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)]+)\)")
FIGURE = re.compile(r"(?<![A-Za-z_\d])\d+(?:[.,]\d+)*")
ROW = re.compile(r"^SOFTRNIC_REASON\((\w+),", re.M)


def columns(line):
    """How wide a terminal shows it: Chinese characters take two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def check_typography(source):
    if source.path.startswith("tests/lint/"):
        return
    for number, line in enumerate(source.lines, 1):
        for match in CROWDED.finditer(line):
            yield number, "chinese-space", f"{match.group()}: a space between Chinese and Latin text, code or figures"
        for match in NARROW.finditer(line):
            yield number, "chinese-punctuation", f"{match.group()}: full-width punctuation beside Chinese"


class Section:
    """What stands under one heading and has to be the same in all languages."""

    def __init__(self, line, level):
        self.line = line
        self.level = level
        self.commands = []  # of fenced blocks, less comments
        self.rows = 0  # of tables
        self.words = collections.Counter()  # code, links and figures

    def add(self, text):
        self.rows += text.startswith("|")
        for pattern in (CODE, LINK):
            self.words.update(pattern.findall(text))
            text = pattern.sub(" ", text)
        self.words.update(FIGURE.findall(text))

    def difference(self, other):
        """In words, or nothing."""
        if self.level != other.level:
            return f"a heading of level {other.level} in the original is one of level {self.level} here"
        if self.commands != other.commands:
            return "the commands of the fenced blocks differ"
        if self.rows != other.rows:
            return f"{self.rows} lines of tables, {other.rows} in the original"
        missing, surplus = other.words - self.words, self.words - other.words
        if missing or surplus:
            return f"missing here: {sorted(missing)}; not in the original: {sorted(surplus)}"
        return None


def sections_of(text):
    sections, fenced = [Section(1, 0)], False
    for number, line in enumerate(text.split("\n"), 1):
        heading = re.match(r"(#+) ", line)
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            sections[-1].commands.append(re.sub(r"\s+# .*", "", line))
        elif heading:
            sections.append(Section(number, len(heading.group(1))))
            sections[-1].add(line)
        else:
            sections[-1].add(line)
    return sections


class Documents:
    """A document and its translation, which differ before the first heading alone: there each names the other."""

    PAIRS = {"README.zh-CN.md": "README.md"}

    def __init__(self):
        self.texts = {}

    def see(self, source):
        if source.path in self.PAIRS or source.path in self.PAIRS.values():
            self.texts[source.path] = source.text

    def findings(self):
        for path, original in self.PAIRS.items():
            if path not in self.texts or original not in self.texts:
                continue
            ours, theirs = (sections_of(self.texts[p])[1:] for p in (path, original))
            for a, b in zip(ours, theirs):
                if difference := a.difference(b):
                    yield path, a.line, "translation", f"{original}:{b.line}: {difference}"
            if len(ours) != len(theirs):
                yield path, 1, "translation", f"{len(ours)} headings, {len(theirs)} in {original}"
            for one, other in ((path, original), (original, path)):
                if f"]({other})" not in self.texts[one].split("\n", 1)[0]:
                    yield one, 1, "translation", f"the first line does not link to {other}"


class Rows:
    """The rows of a table stand in its translation in the same order. A test looks at their texts."""

    ORIGINAL, TRANSLATION = "src/base/reasons.def", "src/base/reasons_zh.def"

    def __init__(self):
        self.names = {}

    def see(self, source):
        if source.path in (self.ORIGINAL, self.TRANSLATION):
            self.names[source.path] = [(m.group(1), source.text.count("\n", 0, m.start()) + 1)
                                       for m in ROW.finditer(source.text)]

    def findings(self):
        if len(self.names) < 2:
            return
        there = {name for name, _ in self.names[self.TRANSLATION]}
        for name, line in self.names[self.ORIGINAL]:
            if name not in there:
                yield self.ORIGINAL, line, "translation", f"{name} has no row in {self.TRANSLATION}"
        order = [name for name, _ in self.names[self.ORIGINAL] if name in there]
        for (name, line), due in zip(self.names[self.TRANSLATION], order):
            if name != due:
                yield self.TRANSLATION, line, "translation", f"{name} stands where {due} is due"
                return
