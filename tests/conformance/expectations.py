"""What is expected of every case of the suite, and how a run compares with it.

expected.ini: a section [pass], and one for each reason to skip:

    [extended-queues]
    says = regular expression that the suite's own words for the skip must match
    because = what a reader should know
    counted = no      (optional: these cases do not show in the totals)
    passes_as = root  (optional: run by this user, the cases pass)
    cases = names, one a line; * stands for any characters, and gives way to a name without
"""
import collections
import configparser
import fnmatch
import re

OTHER = "other-release"  # the reason that stands for all there
ITSELF = "(the suite itself)"  # the case that stands for what went wrong outside of any case
Expected = collections.namedtuple("Expected", "rules says because uncounted passes_as")
Verdict = collections.namedtuple("Verdict", "passed skipped differences")


def read(path):
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(path.read_text())
    rules = [(pattern, name) for name in parser.sections() for pattern in parser[name]["cases"].split()]
    reasons = [name for name in parser.sections() if name != "pass"]
    return Expected(rules, {name: re.compile(parser[name]["says"]) for name in reasons},
                    {name: parser[name]["because"] for name in reasons},
                    {name for name in reasons if not parser[name].getboolean("counted", True)},
                    {name: parser[name]["passes_as"] for name in reasons if "passes_as" in parser[name]})


def wanted_of(expected, case, user="user"):
    """`pass`, a reason, or what is wrong with the list."""
    found = ({name for pattern, name in expected.rules if pattern == case} or
             {name for pattern, name in expected.rules if fnmatch.fnmatchcase(case, pattern)})
    if len(found) != 1:
        return "one entry in expected.ini" if not found else "only one entry"
    name = found.pop()
    return "pass" if expected.passes_as.get(name) == user else name


def agrees(expected, wanted, result):
    if wanted == "pass":
        return result.outcome == "pass"
    return wanted in expected.says and result.outcome == "skip" and bool(expected.says[wanted].search(result.detail))


def never_ran(expected, results):
    return [pattern for pattern, _ in expected.rules if not fnmatch.filter(results, pattern)]


def compare(expected, results, partial, user="user",
            absent=collections.namedtuple("Absent", "outcome detail")("nothing", "")):
    """`partial`: not all cases were asked for; `user`: who ran them. differences: (case, what was expected, result)."""
    passed, skipped, differences = 0, collections.Counter(), []
    for case, result in results.items():
        wanted = wanted_of(expected, case, user)
        if not agrees(expected, wanted, result):
            differences.append((case, wanted, result))
        elif wanted == "pass":
            passed += 1
        else:
            skipped[wanted] += 1
    if not partial and ITSELF not in results:
        differences += [(pattern, "a case of this name", absent) for pattern in never_ran(expected, results)]
    return Verdict(passed, skipped, differences)


def compare_other_release(expected, results):
    """The same for the suite of another release, whose cases and words are others: none may go wrong, and what is to pass
    may not be skipped."""
    counts = collections.Counter(result.outcome for result in results.values())
    differences = [(case, wanted, result) for case, result in results.items()
                   for wanted in ["pass" if wanted_of(expected, case) == "pass" else "pass or skip"]
                   if result.outcome not in wanted.split(" or ")]
    return Verdict(counts["pass"], collections.Counter({OTHER: counts["skip"]}), differences)
