"""The steps of the recipes as scripts, so that they run where there is no container engine and no CI service.

    recipes.py stage NUMBER     of packaging/Containerfile, from 0: its COPY, RUN and ENV lines
    recipes.py command          its CMD
    recipes.py job NAME         of packaging/github-workflow.yml: its `run` steps, but those for after a failure
    recipes.py check            what can be said of all recipes without running them

A script finds the sources in /context. What one stage or job hands to the next one is in the folder `packages`, which is
the same for all: lines that carry it over have nothing to do.
"""
import json
import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def instructions():
    """(word, rest) of each instruction of the Containerfile; comments are left out, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "packaging/Containerfile").read_text(), flags=re.M)
    return [tuple(line.split(None, 1)) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def stages():
    """[(release, [(word, rest)])]"""
    found = []
    for word, rest in instructions():
        if word == "FROM":
            found.append((re.match(r"debian:(\w+)-slim\b", rest)[1], []))
        else:
            found[-1][1].append((word, rest))
    return found


def copy(rest):
    """Of a folder its contents are copied, as container engines do."""
    *flags, source, target = rest.split()
    if flags:
        if flags != ["--from=build"] or source != "/packages" or target != "/packages":
            raise SystemExit(f"recipes.py: COPY {rest}: only /packages goes from stage to stage")
        return "true"
    if (ROOT / source).is_dir():
        return f"mkdir -p {target} && cp -r /context/{source}/. {target}"
    return f"mkdir -p $(dirname {target}) && cp /context/{source} {target}"


def stage(number):
    kinds = {"COPY": copy, "RUN": lambda rest: rest, "ENV": lambda rest: f"export {rest}", "CMD": lambda rest: "true"}
    return "\n".join(kinds[word](rest) for word, rest in stages()[number][1])


def command():
    return shlex.join(json.loads(dict(stages()[-1][1])["CMD"]))


def job(name):
    text = (ROOT / "packaging/github-workflow.yml").read_text()
    body = re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.M)[1]
    steps = re.split(r"^      - ", body, flags=re.M)[1:]
    found = []
    for step in steps:
        run = re.search(r"(?:^|\n {8})run: (?:\|\n((?: {10}.*\n?)+)|(.*))", step)
        if run and "if: failure()" not in step:
            found.append(re.sub(r"^ {10}", "", run[1], flags=re.M) if run[1] else run[2])
    return "\n".join(found)


def check():
    """Scripts of the repository that recipes call are there."""
    recipes = {name: (ROOT / name).read_text()
               for name in ("packaging/Containerfile", "packaging/github-workflow.yml", ".devcontainer/devcontainer.json")}
    json.loads(recipes[".devcontainer/devcontainer.json"])
    if len(stages()) != 2 or not job("package") or not job("tests"):
        raise SystemExit("recipes.py: a stage or a job is missing")
    for name, text in recipes.items():
        for script in re.findall(r"\bscripts/[\w.]+", text):
            if not (ROOT / script).is_file():
                raise SystemExit(f"{name}: there is no {script}")
    return "recipes: their scripts are there"


def main():
    calls = {"stage": lambda: stage(int(sys.argv[2])), "command": command, "job": lambda: job(sys.argv[2]), "check": check,
             "release": lambda: stages()[int(sys.argv[2])][0]}
    print(calls[sys.argv[1]]())


if __name__ == "__main__":
    main()
