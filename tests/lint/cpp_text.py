"""C++ source as the lint rules want it: comments and literals blanked, function bodies found.

Blanking keeps every line break and column, so that a position in the result is a position in the file.
"""
import re

LITERAL_OR_COMMENT = re.compile(
    r"""//[^\n]*                                   # line comment
      | /\*.*?\*/                                  # block comment
      | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"  # raw string
      | "(?:\\.|[^"\\\n])*"                        # string
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'        # character (and no digit separator)
    """,
    re.X | re.S,
)
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum)\b(?![^{]*\)\s*(?:const|noexcept|override|final|->|\s)*$)"
                       r"|\bextern\s*$")
CONTROL = re.compile(r"^\s*(?:if|for|while|switch|do|else|try|catch)\b")
AFTER_PARAMETERS = re.compile(r"\)\s*(?:const|noexcept(?:\([^)]*\))?|override|final|&&?|mutable|\s)*(?:->[^;{}]*)?$")
MEMBER_INITIALISER = re.compile(r"\)[^;{}()]*:(?!:).*[\w>]\s*$", re.S)


def blank(text, keep_strings=False):
    """`text` with comments (and, unless kept, literals) replaced by spaces."""
    def spaces(match):
        token = match.group(0)
        if keep_strings and not token.startswith(("//", "/*")):
            return token
        return re.sub(r"[^\n]", " ", token)
    return LITERAL_OR_COMMENT.sub(spaces, text)


def closing(code, opening):
    """The position of the brace that closes the one at `opening`, or the end."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def functions(code):
    """Yields (first line, last line, head) of every function body in blanked `code`; lambdas belong to their function."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.M)
    start = 0  # where the head of the next brace begins
    for match in _walk(code):
        position, mark, start = match
        if mark != "{":
            continue
        head = code[start:position]
        end = closing(code, position)
        first = start + len(head) - len(head.lstrip())
        yield code.count("\n", 0, first) + 1, code.count("\n", 0, end) + 1, " ".join(head.split())


def _walk(code):
    """Yields (position, "{", start of head) for braces that open a function, stepping over everything else."""
    position = start = 0
    mark = re.compile(r"[{};]")
    while match := mark.search(code, position):
        at = match.start()
        position = at + 1
        if match.group() != "{":
            if match.group() == ";" and code.count("(", start, at) > code.count(")", start, at):
                continue
            start = position
            continue
        head = re.sub(r"^\s*(?:public|private|protected)\s*:(?!:)", "", code[start:at])
        if MEMBER_INITIALISER.search(head) and not AFTER_PARAMETERS.search(head):
            position = closing(code, at) + 1  # the head goes on behind a{x}
        elif AFTER_PARAMETERS.search(head) and not CONTROL.match(head) or _after_initialisers(head):
            yield at, "{", start + len(code[start:at]) - len(head)
            position = start = closing(code, at) + 1
        elif CONTAINER.search(head):
            start = position
        else:
            position = closing(code, at) + 1  # an initialiser of data
            if not re.match(r"\s*[;,)]", code[position:]):
                start = position


def _after_initialisers(head):
    """`Type(…) : a_{x}, b_(y) ` ends with a closing bracket of an initialiser."""
    return re.search(r"\)[^;]*:(?!:).*[})]\s*$", head, re.S) is not None and "=" not in head.split("(")[0]
