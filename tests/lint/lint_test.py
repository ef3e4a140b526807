"""The lint of the lint: every rule finds a violation that was planted, and leaves correct code alone."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cpp_text  # noqa: E402
import labels  # noqa: E402
import lint  # noqa: E402
import rules  # noqa: E402
import translation  # noqa: E402

LAYERS = "add_subdirectory(base)\nadd_subdirectory(wire)\nadd_subdirectory(engine)\nadd_subdirectory(cli)\n"
GOOD = """// A header.
#pragma once

#include "base/other.h"

namespace softrnic {
/// Never calls abort() and says "exit(1)" only in a string.
inline const char* text() { return "abort() exit(1) // throw"; }
}  // namespace softrnic
"""
OTHER = "// Other.\n#pragma once\n"

# rule that must speak, path, text
PLANTED = (
    ("no-abort", "src/base/a.cc", "void f() { std::abort(); }\n"),
    ("no-abort", "src/base/a.cc", "void f() { exit(1); }\n"),
    ("no-assert", "src/base/a.cc", "void f(int x) { assert(x); }\n"),
    ("no-throw", "src/base/a.cc", "void f() { throw 1; }\n"),
    ("no-stdout", "src/engine/a.cc", '#include <iostream>\n'),
    ("no-stdout", "src/engine/a.cc", 'void f() { printf("x"); }\n'),
    ("no-stdout", "src/engine/a.cc", 'void f() { fprintf(stdout, "x"); }\n'),
    ("no-sleep", "src/engine/a.cc", "void f() { usleep(5); }\n"),
    ("no-sleep", "tests/unit/a.cc", "void f() { std::this_thread::sleep_for(x); }\n"),
    ("no-rand", "src/base/a.cc", "int f() { return rand(); }\n"),
    ("no-wall-clock", "src/engine/a.cc", "auto now() { return std::chrono::system_clock::now(); }\n"),
    ("no-wall-clock", "src/engine/a.cc", "void f() { clock_gettime(CLOCK_REALTIME, &now); }\n"),
    ("no-wall-clock", "src/engine/a.cc", "int f() { return timerfd_create(CLOCK_REALTIME_ALARM, 0); }\n"),
    ("no-wall-clock", "src/engine/a.cc", "void f() { gettimeofday(&now, nullptr); }\n"),
    ("no-wall-clock", "src/engine/a.cc", "void f() { sem_timedwait(&sem, &until); }\n"),
    ("no-wall-clock", "src/engine/a.cc", "auto seed = time(nullptr);\n"),
    ("no-thread", "src/base/a.cc", "void f() { std::thread t(g); }\n"),
    ("no-thread", "src/base/a.cc", "std::thread worker;\n"),
    ("no-unsafe-c", "src/base/a.cc", "void f(char* a) { strcpy(a, b); }\n"),
    ("no-open-work", "src/base/a.cc", "// TO" + "DO later\n"),
    ("no-machine-path", "scripts/a", "cd /wo" + "rk/here\n"),
    ("no-tab", "src/base/a.cc", "\tint x;\n"),
    ("no-trailing-space", "README.md", "text \n"),
    ("final-newline", "README.md", "text"),
    ("final-newline", "README.md", "text\n\n"),
    ("file-length", "src/base/a.cc", "int x;\n" * 401),
    ("file-length", "scripts/a", "true\n" * 401),
    ("line-length", "src/base/a.cc", "// " + "x" * 108 + "\n"),
    ("function-length", "src/base/a.cc", "void f() {\n" + "  g();\n" * 69 + "}\n"),
    ("function-length", "src/base/a.cc", "A::A(int x)\n    : a_{x}, b_(x) {\n" + "  g();\n" * 69 + "}\n"),
    ("function-length", "src/base/a.cc", "namespace {\nstruct S {\n  int f() const {\n" + "  g();\n" * 69 + "  }\n};\n}\n"),
    ("function-length", "tests/a_test.cc", "TEST(A, B) {\n" + "  g();\n" * 69 + "}\n"),
    ("function-length", "scripts/a.py", "def f():\n" + "    g()\n" * 70),
    ("header-comment", "src/base/a.h", "#pragma once\n"),
    ("pragma-once", "src/base/a.h", "// A.\n"),
    ("using-namespace", "src/base/a.h", "// A.\n#pragma once\nusing namespace std;\n"),
    ("file-name", "src/base/CamelCase.cc", "int x;\n"),
    ("layer-order", "src/base/a.cc", '#include "wire/a.h"\n'),
    ("layer-order", "src/wire/a.cc", '#  include "cli/a.h"\n'),
    ("include-path", "src/wire/a.cc", '#include "a.h"\n'),
    ("include-path", "src/wire/a.cc", '#include "../base/other.h"\n'),
    ("include-path", "src/wire/a.cc", '#include "base/missing.h"\n'),
    ("unused-row", "src/base/reasons.def", 'SOFTRNIC_REASON(nobody_says, "a", "b")\n'),
    ("cited-test", "docs/security.md", "Sealed: `Memory.IsSealed`\n"),
    ("cited-test", "docs/security.md", "Sealed: `fuzz_seals`\n"),
    ("suppression", "tests/interop/tsan.supp", "race:^softrnic::base::renamed\n"),
    ("line-length", "src/base/a.cc", "// " + "宽" * 54 + "\n"),
    ("chinese-space", "README.zh-CN.md", "打开QP\n"),
    ("chinese-space", "src/base/reasons_zh.def", "第 {0}个\n"),
    ("chinese-punctuation", "README.zh-CN.md", "打开,关闭\n"),
    ("unused-row", "src/base/later_verbs.def", "SOFTRNIC_LATER_VERB(nobody_refuses)\n"),
)

# path, text: nothing to find
CLEAN = (
    ("src/wire/good.h", GOOD),
    ("src/base/a.cc", "void f() {\n" + "  g();\n" * 68 + "}\n"),
    ("src/base/a.cc", "constexpr int kTable[] = {\n" + "  1,\n" * 200 + "};\n"),
    ("src/base/a.cc", "namespace softrnic {\n" + "void f() { g(); }\n" * 150 + "}\n"),
    ("src/base/a.cc", "class A {\n public:\n" + "  int f() { return 1'000; }\n" * 150 + "};\n"),
    ("src/base/a.cc", "static_assert(sizeof(int) == 4);\n"),
    ("src/base/a.cc", '#define M(x) do { if (x) { y; } } while (0)\nvoid f() {}\n' + "int x;\n" * 100),
    ("src/base/a.cc", "void f() { exit(1); }  // NOLINT(no-abort): the child of a fork\n"),
    ("src/engine/a.cc", "std::thread worker;\n"),
    ("src/base/a.cc", "auto id = std::this_thread::get_id(); bool b = std::thread::id() == id;\n"),
    ("src/cli/a.cc", 'void f() { printf("x"); }\n'),
    ("src/engine/a.cc", "// CLOCK_REALTIME\nvoid f() { clock_gettime(CLOCK_MONOTONIC, &now); g(time(first)); }\n"),
    ("src/base/a.cc", 'void f() { fprintf(stderr, "x"); snprintf(a, 1, "x"); }\n'),
    ("tests/golden/a.pcap", "\t \x00"),
    ("README.zh-CN.md", "打开 `QP`，第 {0} 个（RC）：**MTU** 1024\n"),
)


def findings_in(path, text):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("src/CMakeLists.txt", LAYERS), ("src/base/other.h", OTHER), (path, text)):
            file = pathlib.Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return [f for f in lint.lint(folder) if f[0] == path]


ORIGINAL = """[b](README.zh-CN.md)

# A
Takes 3 of `x`, see [y](y.md).
## B
```
run --me  # for ever
```
| a | b |
"""
TRANSLATION = """[a](README.md)

# 甲
见 [乙](y.md)：取 `x` 中的 3 个。
## 乙
```
run --me  # 直到永远
```
| 甲 | 乙 |
"""


def differences(original, translated, names=("README.md", "README.zh-CN.md"), rule=translation.Documents):
    pair = rule()
    for path, text in zip(names, (original, translated)):
        pair.see(rules.Source(path, text))
    return list(pair.findings())


class TranslationTest(unittest.TestCase):
    def test_a_true_translation_is_left_alone(self):
        self.assertEqual([], differences(ORIGINAL, TRANSLATION))

    def test_what_differs_is_found(self):
        for old, new in (("3", "4"), ("`x`", "`z`"), ("y.md", "z.md"), ("--me", "--you"), ("## 乙", "# 乙"), ("| 甲 | 乙 |\n", ""),
                         ("README.md", "other.md"), ("## 乙\n", "")):
            with self.subTest(old=old, new=new):
                self.assertEqual({"translation"}, {f[2] for f in differences(ORIGINAL, TRANSLATION.replace(old, new))})

    def test_rows_have_one_order(self):
        def found(*names):
            there = "".join(f'SOFTRNIC_REASON({name}, "", "")\n' for name in names)
            tables = (translation.Rows.ORIGINAL, translation.Rows.TRANSLATION)
            return len(differences('SOFTRNIC_REASON(a, "", "")\nSOFTRNIC_REASON(b, "", "")\n', there, tables, translation.Rows))
        self.assertEqual([0, 1, 1], [found("a", "b"), found("b", "a"), found("b")])


class LintTest(unittest.TestCase):
    def test_planted_violations_are_found(self):
        for rule, path, text in PLANTED:
            with self.subTest(rule=rule, text=text[:60]):
                self.assertIn(rule, [finding[2] for finding in findings_in(path, text)])

    def test_every_rule_has_a_planted_violation(self):
        planted = {rule for rule, _, _ in PLANTED}
        self.assertEqual(set(), {banned[0] for banned in rules.BANNED} - planted)

    def test_clean_code_is_left_alone(self):
        for path, text in CLEAN:
            with self.subTest(path=path, text=text[:60]):
                self.assertEqual([], findings_in(path, text))

    def test_an_excuse_needs_a_reason(self):
        self.assertEqual(1, len(findings_in("src/base/a.cc", "void f() { exit(1); }  // NOLINT(no-abort)\n")))

    def test_functions_are_found_where_they_begin_and_end(self):
        code = "struct A {\n  A() : x_{1},\n        y_{2} {}\n  int f()\n      const {\n    if (x) { y(); }\n    return 1;\n  }\n};\n"
        self.assertEqual([(2, 3), (4, 8)], [(a, b) for a, b, _ in cpp_text.functions(code)])

    def test_a_test_that_nobody_runs_is_found(self):
        def test(name, *own):
            return {"name": name, "properties": [{"name": "LABELS", "value": list(own)}]}
        run = labels.parts("a=(x)\ntested_in_release=(unit sim)\n")
        tests = [test("a", "unit", "threads"), test("b", "threads"), test("c", "interop", "long"), {"name": "d"}]
        self.assertEqual(["b", "d"], labels.strays(tests, run))

    def test_layers_are_read_from_the_build(self):
        self.assertEqual(["base", "wire", "engine", "cli"], rules.Layers(LAYERS).order)


if __name__ == "__main__":
    unittest.main()
