"""What was measured, as Markdown, JSON and one picture for each question."""
import json
import pathlib

from figures.plot import Series, number_text, svg, x_text
from figures.turns import quartiles, ratio_of

UNITS = {"us": "µs", "M/s": "10⁶ messages a second", "calls": "system calls a message", "s/GiB": "CPU seconds a GiB"}
OURS = ("ib_", "write_rate", "write_latency")


def line(row):
    """A line of the table of verdicts."""
    if row["ratio"] is None:
        seen = f"needs {row['needs']}" if row["needs"] else "failed" if row["tried"] else ""
        return f"| {row['about']} | {row['what']} | {row['asked']} | {seen} | | | not measured |"
    low, high = (number_text(q) for q in row["quartiles"])
    return (f"| {row['about']} | {row['what']} | {row['asked']} | {number_text(row['ratio'])} | {low} – {high} | "
            f"{number_text(row['ours'])} / {number_text(row['theirs'])} | {row['met']} |")


def verdict_table(rows):
    return ["| | what | asked | seen | quartiles | figures | met |", "|---|---|---|---|---|---|---|", *map(line, rows)]


def figures_table(question):
    """All figures that the verdict rests on, and how far they went."""
    rows = ["| figure | median | quartiles | turns |", "|---|---|---|---|"]
    for cell in question.cells:
        if cell.good:
            low, high = (number_text(q) for q in quartiles(cell.good))
            rows.append(f"| {cell.series} | {number_text(cell.median)} | {low} – {high} | {len(cell.good)} |")
    return rows


def table(question):
    """Series by x: medians, and beside the reference their ratio to it at the same x."""
    xs = question.xs()
    head = [x_text(x) if x is not None else question.unit for x in xs]
    corner = f"{question.unit} by {question.x}" if question.x else ""
    rows = [f"| {corner} | " + " | ".join(head) + " |", "|---" * (len(xs) + 1) + "|"]
    for series in question.series():
        rows.append(f"| {series} | " + " | ".join(_entry(question, series, x) for x in xs) + " |")
    return rows


def _entry(question, series, x):
    cell = question.cell(series, x)
    if cell is None:
        return ""
    if cell.absent:
        return f"not installed: {cell.absent}"
    if cell.median is None:
        return "failed" if cell.values else ""
    reference = question.cell(question.reference, x) if question.reference else None
    ratio = ratio_of(cell, reference) if reference and reference is not cell else None
    return number_text(cell.median) + (f" ({number_text(ratio[0])})" if ratio else "")


def picture(question):
    series = []
    for name in question.series():
        points = sorted((c.x, c.median) for c in question.cells if c.series == name and c.median is not None)
        series.append(Series(name, points, strong=name.startswith(OURS)))
    unit = UNITS.get(question.unit, question.unit)
    return svg(question.title, question.x, unit, series, question.log, question.floor, question.note)


def as_data(question):
    return {"key": question.key, "title": question.title, "x": question.x, "unit": question.unit, "reference": question.reference,
            "note": question.note, "cells": [_data(c) for c in question.cells]}


def _data(cell):
    return {"series": cell.series, "x": cell.x, "median": cell.median, "quartiles": quartiles(cell.good) if cell.good else None,
            "turns": cell.values, "needs": cell.absent or None}


class Report:
    """Written after every round, so that a run that is ended leaves what it has."""

    def __init__(self, folder, facts, questions, verdict, about):
        self.folder, self._facts, self._about = pathlib.Path(folder), facts, about
        self._questions, self._verdict = questions, verdict

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = self._verdict.rows() if self._verdict else []
        text = ["# Bench", "", "; ".join(f"{k}: {v}" for k, v in self._facts.items()), "", self._about, ""]
        if rows:
            text += ["## Figures to reach", "", "Seen are medians of the turns' ratios; the figures are medians by themselves.", "",
                     *verdict_table(rows), "", *figures_table(self._verdict.question), ""]
        for question in self._questions:
            text += [f"## {question.title}", "", *([question.note, ""] if question.note else [])]
            if question.reference:
                text += [f"In brackets: the ratio to {question.reference}.", ""]
            text += [*table(question), ""]
            if len(question.xs()) > 1:
                (self.folder / f"{question.key}.svg").write_text(picture(question))
                text += [f"![{question.title}]({question.key}.svg)", ""]
        (self.folder / "README.md").write_text("\n".join(text))
        data = {"machine": self._facts, "verdict": rows, "questions": [as_data(q) for q in self._questions]}
        if self._verdict:
            data["verdict figures"] = as_data(self._verdict.question)
        (self.folder / "figures.json").write_text(json.dumps(data, indent=1) + "\n")
