"""Taking turns: every figure of every question in every round, so that a change of the machine's mood meets all of them."""
import dataclasses
import statistics
import sys

import measure

from figures.contenders import NotInstalled


@dataclasses.dataclass
class Cell:
    """One point of a plot and one place in a table; `x` None: the only one of its series."""
    series: str
    x: object
    site: object
    take: object  # function () → figure in the question's unit
    values: dict = dataclasses.field(default_factory=dict)  # {turn: figure, or None when it failed}
    turns: int = 0    # at most so many in a round; 0: all that the question has
    absent: str = ""  # the package it would need

    @property
    def median(self):
        return statistics.median(self.good) if self.values and self.good else None

    @property
    def good(self):
        return sorted(v for v in self.values.values() if v is not None)


@dataclasses.dataclass
class Question:
    """A table and a picture. Cells that stand together are measured together."""
    key: str
    title: str
    x: str
    unit: str
    cells: list
    reference: str = ""      # the series beside which the others are shown
    log: bool = False        # the scale of the figures
    floor: float = 0.0       # of a logarithmic scale: less is drawn there
    repeats: int = 1         # turns in every round
    rounds: int = 0          # at most so many; 0: all
    note: str = ""

    def cell(self, series, x):
        return next((c for c in self.cells if c.series == series and c.x == x), None)

    def series(self):
        return list(dict.fromkeys(c.series for c in self.cells))

    def xs(self):
        """In the order of the table."""
        return sorted({c.x for c in self.cells if c.x is not None}) or [None]


def ratio_of(cell, reference):
    """(median, lower quartile, upper quartile) of the ratios of turns; None when there are none."""
    ratios = [v / reference.values[turn] for turn, v in cell.values.items() if v is not None and reference.values.get(turn)]
    return (statistics.median(ratios), *quartiles(ratios)) if ratios else None


def quartiles(values):
    """The lower and the upper one; of few values the lowest and the highest."""
    return (min(values), max(values)) if len(values) < 4 else tuple(statistics.quantiles(values, n=4)[::2])


class Turns:
    def __init__(self, lab, questions, rounds):
        self._lab, self._questions, self._rounds = lab, questions, rounds
        self.failures = 0

    def run(self, after_round=lambda number: None):
        sites = {id(c.site): c.site for q in self._questions for c in q.cells}
        for number in range(self._rounds):
            for site in sites.values():
                self._round(number, site)
            after_round(number + 1)

    def absent(self):
        """{package: the series that need it}"""
        found = {}
        for cell in (c for q in self._questions for c in q.cells if c.absent):
            found.setdefault(cell.absent, {})[cell.series] = None
        return {package: list(series) for package, series in found.items()}

    def _round(self, number, site):
        if site.mtu:
            self._lab.set_mtu(site.mtu)
        site.prepare()
        for question in self._questions:
            cells = [c for c in question.cells if c.site is site]
            if not question.rounds or number < question.rounds:
                for turn in range(question.repeats):
                    for cell in cells:
                        if not cell.turns or turn < cell.turns:
                            self._take(number, number * question.repeats + turn, question, cell)

    def _take(self, number, turn, question, cell):
        if cell.absent:
            return
        value = None
        try:
            value = cell.take()
        except NotInstalled as absent:
            cell.absent = absent.package
        except measure.Failed as failure:
            self.failures += 1
            print(f"FAILED: {question.key}: {cell.series}, {cell.x}: {failure}\n{failure.report}", file=sys.stderr)
        cell.values[turn] = value
        said = f"needs {cell.absent}" if cell.absent else "failed" if value is None else f"{value:.3f} {question.unit}"
        x = "" if cell.x is None else cell.x
        print(f"round {number + 1} | {question.key:<14} | {cell.series:<40} | {x:>8} | {said}", flush=True)
