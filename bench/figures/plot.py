"""Line charts as SVG: a logarithmic x axis, a linear or logarithmic y axis, a legend; light or dark as the viewer likes it."""
import dataclasses
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 1000, 600
LEFT, TOP, RIGHT, BOTTOM = 78, 56, 330, 86  # margins; the legend stands in the right one
# Pairs (on white, on dark); a series keeps its hue in both.
COLOURS = (("#0b62c4", "#6cb2ff"), ("#c2410c", "#ff9a5c"), ("#15803d", "#5fd38a"), ("#a21caf", "#e38bf0"), ("#a16207", "#e6bf3c"),
           ("#0e7490", "#4fd0e4"), ("#be123c", "#ff8299"), ("#4d4d4d", "#c4c4c4"))
MARKERS = "osdtvx"


@dataclasses.dataclass
class Series:
    name: str
    points: list          # [(x, y)]
    strong: bool = False  # drawn as a thick line; the others are thin and dashed


def svg(title, x_label, y_label, series, log_y=False, floor=0.0, note=""):
    """The text of the picture. Where y is logarithmic, what lies below `floor` is drawn at it."""
    drawn = [s for s in series if s.points]
    xs = sorted({x for s in drawn for x, _ in s.points}) or [1]
    frame = _Frame(xs, [y for s in drawn for _, y in s.points] or [1], log_y, floor)
    numbers = {True: 0, False: 0}
    looks = []
    for one in drawn:
        looks.append(_Look(numbers[one.strong], one.strong))
        numbers[one.strong] += 1
    parts = [_head(title), *frame.axes(x_label, y_label)]
    for look, one in sorted(zip(looks, drawn), key=lambda pair: pair[1].strong):
        parts += _line(frame, look, one)
    parts += _legend(list(zip(looks, drawn)))
    if note:
        parts.append(f'<text class="small" x="{LEFT}" y="{HEIGHT - 8}">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>", ""])


class _Frame:
    """From figures to places in the picture."""

    def __init__(self, xs, ys, log_y, floor):
        self.xs, self.log_y = xs, log_y
        low, high = math.log(xs[0]), math.log(xs[-1])
        self._x0, self._x_span = (low, high - low) if high > low else (low - 1, 2)
        seen = [max(y, floor) for y in ys if max(y, floor) > 0] or [1]
        self.ticks = _log_ticks(min(seen), max(seen)) if log_y else _linear_ticks(max(ys))
        ends = [math.log(t) for t in (self.ticks[0], self.ticks[-1])] if log_y else [0, self.ticks[-1]]
        self._y0, self._y_span = ends[0], (ends[1] - ends[0]) or 1

    def x(self, value):
        return LEFT + (math.log(value) - self._x0) / self._x_span * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        place = (math.log(max(value, self.ticks[0])) if self.log_y else value) - self._y0
        return HEIGHT - BOTTOM - place / self._y_span * (HEIGHT - TOP - BOTTOM)

    def axes(self, x_label, y_label):
        right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        for tick in self.ticks:
            yield f'<line class="grid" x1="{LEFT}" y1="{self.y(tick):.1f}" x2="{right}" y2="{self.y(tick):.1f}"/>'
            yield f'<text class="tick" x="{LEFT - 8}" y="{self.y(tick) + 4:.1f}" text-anchor="end">{number_text(tick)}</text>'
        for tick in (m * t for t in self.ticks[:-1] for m in (2, 5)) if self.log_y else ():
            yield f'<line class="grid fine" x1="{LEFT}" y1="{self.y(tick):.1f}" x2="{right}" y2="{self.y(tick):.1f}"/>'
        last = -math.inf
        for x in self.xs:
            yield f'<line class="grid" x1="{self.x(x):.1f}" y1="{TOP}" x2="{self.x(x):.1f}" y2="{bottom}"/>'
            if self.x(x) - last > 40:  # room for its text
                yield f'<text class="tick" x="{self.x(x):.1f}" y="{bottom + 20}" text-anchor="middle">{x_text(x)}</text>'
                last = self.x(x)
        yield f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>'
        yield f'<text class="label" x="{(LEFT + right) / 2:.0f}" y="{bottom + 42}" text-anchor="middle">{escape(x_label)}</text>'
        yield (f'<text class="label" transform="translate(20 {(TOP + bottom) / 2:.0f}) rotate(-90)" text-anchor="middle">'
               f'{escape(y_label)}</text>')


def _log_ticks(low, high):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** power for power in range(first, max(last, first + 1) + 1)]


def _linear_ticks(high):
    """From 0 to just above `high` in four to ten steps of 1, 2 or 5."""
    raw = max(high, 1e-12) / 8
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw)
    return [step * i for i in range(math.ceil(high / step - 1e-9) + 1)]


def number_text(value):
    """Three figures, no exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def x_text(value):
    for power, unit in ((20, "Mi"), (10, "Ki")):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{value >> power} {unit}"
    return str(value)


def size_text(value):
    text = x_text(value)
    return text + ("B" if text.endswith("i") else " B")


def _head(title):
    rules = [".back{fill:#fff}.title{font-size:18px;font-weight:600}.label{font-size:14px}.tick,.small{font-size:12px}",
             ".legend{font-size:13px}text{fill:#1f2328;font-family:sans-serif}.grid{stroke:#d8dee4}.fine{stroke-opacity:.5}",
             ".axis{stroke:#1f2328;fill:none}.line{fill:none;stroke-linejoin:round}"]
    rules += [f".c{i}{{stroke:{light}}}.f{i}{{fill:{light}}}" for i, (light, _) in enumerate(COLOURS)]
    dark = [".back{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}.axis{stroke:#e6edf3}"]
    dark += [f".c{i}{{stroke:{colour}}}.f{i}{{fill:{colour}}}" for i, (_, colour) in enumerate(COLOURS)]
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
            f'<title>{escape(title)}</title>\n<style>{"".join(rules)}@media(prefers-color-scheme:dark){{{"".join(dark)}}}</style>\n'
            f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>\n<text class="title" x="{LEFT}" y="32">{escape(title)}</text>')


class _Look:
    """Colour, dashes and marker of a line: the `number`-th of the strong or of the others."""

    def __init__(self, number, strong):
        self._colour, self._marker = number % len(COLOURS), MARKERS[(number + (0 if strong else 1)) % len(MARKERS)]
        dashes = "" if strong else ' stroke-dasharray="6 4"' if number < len(COLOURS) else ' stroke-dasharray="2 3"'
        self.line = f'class="line c{self._colour}" stroke-width="{2.8 if strong else 1.5}"' + dashes

    def marker(self, x, y):
        if self._marker == "o":
            return f'<circle class="f{self._colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
        paths = {"s": "m-3.5-3.5h7v7h-7z", "d": "m0-5l5 5l-5 5l-5-5z", "t": "m0-5l4.5 8h-9z", "v": "m0 5l4.5-8h-9z"}
        if self._marker in paths:
            return f'<path class="f{self._colour}" d="M{x:.1f} {y:.1f}{paths[self._marker]}"/>'
        return f'<path class="c{self._colour}" stroke-width="2" d="M{x:.1f} {y:.1f}m-4-4l8 8m0-8l-8 8"/>'


def _line(frame, look, series):
    places = [(frame.x(x), frame.y(y)) for x, y in series.points]
    yield f'<path {look.line} d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) + '"/>'
    yield from (look.marker(x, y) for x, y in places)


def _legend(drawn):
    """In the order of the lines' right ends, so that the eye finds them."""
    for row, (look, series) in enumerate(sorted(drawn, key=lambda pair: -pair[1].points[-1][1])):
        x, y = WIDTH - RIGHT + 18, TOP + 10 + row * 24
        yield f'<path {look.line} d="M{x} {y}h30"/>'
        yield look.marker(x + 15, y)
        yield f'<text class="legend" x="{x + 38}" y="{y + 4.5}">{escape(series.name)}</text>'
