"""A small drawing on a card of its own, readable on a light page and on a dark one: lines, bars, dots and words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

# By what they are for: the card, words, words beside, rules, and three things that are told apart.
LIGHT = {
    "card": "#ffffff",
    "ink": "#1f2430",
    "soft": "#5f6775",
    "line": "#d5d9e0",
    "a": "#2563c9",
    "b": "#c2410c",
    "c": "#0f7b4f",
}
DARK = {
    "card": "#1b1f2a",
    "ink": "#e8eaf0",
    "soft": "#a9b1c0",
    "line": "#3b4252",
    "a": "#82b0ff",
    "b": "#ff9d66",
    "c": "#62d6a0",
}
FONT = "system-ui, 'DejaVu Sans', sans-serif"


@dataclass
class Drawing:
    """Parts in the order in which they are drawn."""

    width: int
    height: int
    says: str  # for those who do not see it
    parts: list[str] = field(default_factory=list)

    def line(self, points: Iterable[tuple[float, float]], ink: str, *, wide: float = 1.5, dashes: str = "") -> None:
        told = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(
            f'<polyline class="s-{ink}" stroke="{LIGHT[ink]}" fill="none" stroke-width="{wide:g}"{dashed} points="{told}"/>'
        )

    def bar(self, x: float, y: float, wide: float, high: float, ink: str, *, full: bool = True) -> None:
        line = f'class="s-{ink}" stroke="{LIGHT[ink]}" fill="none" stroke-width="1.5"'
        look = f'class="f-{ink}" fill="{LIGHT[ink]}"' if full else line
        size = f'width="{_short(wide)}" height="{_short(high)}"'
        self.parts.append(f'<rect {look} x="{_short(x)}" y="{_short(y)}" {size} rx="2"/>')

    def dot(self, x: float, y: float, ink: str, size: float = 2.5) -> None:
        self.parts.append(f'<circle class="f-{ink}" fill="{LIGHT[ink]}" cx="{_short(x)}" cy="{_short(y)}" r="{size:g}"/>')

    def words(self, x: float, y: float, text: str, ink: str = "ink", *, at: str = "start", size: int = 13) -> None:
        where = f'x="{_short(x)}" y="{_short(y)}" text-anchor="{at}" font-size="{size}"'
        self.parts.append(f'<text class="f-{ink}" fill="{LIGHT[ink]}" {where}>{escape(text)}</text>')

    def svg(self) -> str:
        """The dark colours where the reader has chosen them; a viewer that knows no style has the light ones."""
        dark = " ".join(f".f-{name} {{ fill: {of}; }} .s-{name} {{ stroke: {of}; }}" for name, of in DARK.items())
        look = f"text {{ font-family: {FONT}; }} @media (prefers-color-scheme: dark) {{ {dark} }}"
        size = f'width="{self.width}" height="{self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" {size}>'
        card = f'<rect class="f-card" fill="{LIGHT["card"]}" {size} rx="8"/>'
        return "\n".join(
            [head, f"<title>{escape(self.says)}</title>", f"<style>{look}</style>", card, *self.parts, "</svg>\n"]
        )


@dataclass(frozen=True)
class Axes:
    """Where a figure's numbers lie in a drawing."""

    drawing: Drawing
    x: tuple[float, float]  # of the figures
    y: tuple[float, float]
    left: float
    top: float
    wide: float
    high: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = self.x, self.y
        return self.left + (x - x0) / (x1 - x0) * self.wide, self.top + (y1 - y) / (y1 - y0) * self.high

    def line(self, points: Sequence[tuple[float, float]], ink: str, *, wide: float = 1.5, dashes: str = "") -> None:
        self.drawing.line([self.at(*point) for point in points], ink, wide=wide, dashes=dashes)

    def dot(self, x: float, y: float, ink: str, size: float = 2.5) -> None:
        self.drawing.dot(*self.at(x, y), ink, size)

    def words(self, x: float, y: float, text: str, ink: str = "ink", *, at: str = "start", up: float = 0) -> None:
        left, top = self.at(x, y)
        self.drawing.words(left, top - up, text, ink, at=at)

    def ticks(self, xs: Iterable[tuple[float, str]], ys: Iterable[tuple[float, str]] = ()) -> None:
        for x, text in xs:
            self.line([(x, self.y[0]), (x, self.y[1])], "line", wide=1)
            self.words(x, self.y[0], text, "soft", at="middle", up=-18)
        for y, text in ys:
            self.line([(self.x[0], y), (self.x[1], y)], "line", wide=1)
            left, top = self.at(self.x[0], y)
            self.drawing.words(left - 8, top + 4, text, "soft", at="end")


def _short(figure: float) -> str:
    return f"{figure:.1f}".rstrip("0").rstrip(".")
