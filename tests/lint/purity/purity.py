#!/usr/bin/env python3
"""Proves that layers are pure: what their archives ask of the outside is on a list without I/O, clocks and threads.

    purity.py [--below ARCHIVE]… [--no-allocation ARCHIVE:MEMBER,MEMBER…]… [--expect SYMBOL,…] ARCHIVE…

Every member of ARCHIVE is checked, and of the archives of the layers below every member that a checked one needs. A
symbol of the project that none of them defines is a call upwards. --no-allocation names the members of an archive that
may use operator new; the others may not. --expect is for the test of this check: exactly these have to be found.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

PROJECT = re.compile(r"_Z(?:[A-Z]{1,3})?N[VK]*8softrnic|_ZG[RV].*8softrnic")
NEW = re.compile(r"_Zn[wa]")

# Everything that may be undefined, by what it is for.
ALLOWED = re.compile("|".join((
    r"mem(?:cpy|move|set|cmp|chr)|bcmp|str(?:len|nlen)",
    r"v?snprintf|inet_ntop|inet_pton",  # into a buffer of the caller
    r"__(?:mem(?:cpy|move|set)|v?snprintf)_chk|__stack_chk_fail",  # their fortified forms
    r"__popcount[sdt]i2",  # of the compiler
    r"__cxa_allocate_exception|__cxa_throw",  # std::visit, of a variant that is never without a value
    r"__cpu_(?:model|features2|indicator_init)",  # what this processor can do
    r"_Z(?:n[wa]|d[la]).*",  # operator new and delete
    r"_ZN?K?St.*|_ZNKSt.*|_ZNS[ast].*|_ZNKS[ast].*|_ZT[ISV].*",  # the C++ library, less IMPURE_STD; type information
    r"_ZTVN10__cxxabiv1.*",
    r"__gxx_personality_v0|_Unwind_Resume|__cxa_(?:begin_catch|end_catch|rethrow|pure_virtual|throw_bad_array_new_length)",
    r"_GLOBAL_OFFSET_TABLE_|__dso_handle",
)))
IMPURE_STD = re.compile(
    r"chrono|thread|mutex|condition_variable|filesystem|filebuf|stream|ios_base|St[34](?:cin|cout|cerr|clog)|"
    r"random_device|locale|future|once_flag|semaphore|barrier|latch")


class Member:
    """An object file of an archive: the symbols it defines and those it needs."""

    def __init__(self, archive, name):
        self.archive = archive
        self.name = name
        self.defined = set()
        self.needed = set()


def members_of(archive):
    text = subprocess.run(["nm", "--format=posix", archive], check=True, capture_output=True, text=True).stdout
    members = []
    for line in text.splitlines():
        header = re.fullmatch(r".*\[(.+)\]:", line)
        if header:
            members.append(Member(archive, header.group(1)))
            continue
        name, kind = line.split()[:2]
        (members[-1].needed if kind in "Uvw" else members[-1].defined).add(name)
    return members


def is_allowed(symbol):
    return ALLOWED.fullmatch(symbol) is not None and IMPURE_STD.search(symbol) is None


def check(archives, below, allocators):
    """The offences as (member, symbol, complaint), and the number of members looked at."""
    definer = {}
    for archive in archives + below:
        for member in members_of(archive):
            for symbol in member.defined:
                definer.setdefault(symbol, member)
    queue = collections.deque(m for archive in archives for m in members_of(archive))
    seen = {(m.archive, m.name) for m in queue}
    offences = []
    while queue:
        member = queue.popleft()
        for symbol in sorted(member.needed - member.defined):
            owner = definer.get(symbol)
            if owner is not None:
                if (owner.archive, owner.name) not in seen:
                    seen.add((owner.archive, owner.name))
                    queue.append(owner)
            elif PROJECT.match(symbol):
                offences.append((member, symbol, "is not of this layer or one below"))
            elif not is_allowed(symbol):
                offences.append((member, symbol, "is not on the list of what a pure layer may use"))
            elif NEW.match(symbol) and member.name not in allocators.get(member.archive, {member.name}):
                offences.append((member, symbol, "allocates, in a member that works on every packet"))
    return offences, len(seen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--below", action="append", default=[])
    parser.add_argument("--no-allocation", action="append", default=[])
    parser.add_argument("--expect")
    parser.add_argument("archives", nargs="+")
    options = parser.parse_args()
    allocators = {}
    for entry in options.no_allocation:
        archive, members = entry.rsplit(":", 1)
        allocators[archive] = set(members.split(","))
    offences, looked_at = check(options.archives, options.below, allocators)
    for member, symbol, complaint in offences:
        print(f"{pathlib.Path(member.archive).name}({member.name}): {symbol} {complaint}")
    if options.expect is not None:
        found = {symbol for _, symbol, _ in offences}
        wanted = set(options.expect.split(","))
        for symbol in sorted(wanted ^ found):
            print(f"{symbol}: {'not found' if symbol in wanted else 'not expected'}")
        return 0 if wanted == found else 1
    print(f"{looked_at} members, {len(offences)} offences")
    return 1 if offences or looked_at == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
