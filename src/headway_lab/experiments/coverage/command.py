"""`headway bench coverage`: how often the next sweeping watermark falls into its predicted interval (claim K7)."""

from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.coverage.run import CONFIDENCES, DELAYS, EXPERIMENT, PREDICTORS, Coverage, cover
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import LedgerOption
from headway_lab.harness.suite import Spread


def coverage(
    delay: Annotated[str, typer.Option(help="Delay models, with commas between them.")] = ",".join(DELAYS),
    epochs: Annotated[int, typer.Option(help="Epochs per seed.")] = 400,
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1,2,3,4,5",
    ledger: LedgerOption = LEDGER,
) -> None:
    """Measure how honest the prediction intervals are, on generated delays; needs no Spark."""
    models, numbers, book = [d.strip() for d in delay.split(",")], arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    found: list[Coverage] = []
    with screen.ProgressBar([4.0] * len(models) * len(numbers)) as bar:
        for model in models:
            for seed in numbers:
                bar.begin(f"{model}, seed {seed}")
                found += cover(model, seed, epochs)
                bar.end()
    for one in found:
        setting = {"delay": one.delay, "confidence": one.confidence, "epochs": epochs}
        figures = {"hit": one.hit, "width_ms": round(one.width_ms, 1)}
        book.append(EXPERIMENT, one.predictor, setting, one.seed, figures, kind="sim")
    screen.out.print(table(found))


def table(found: list[Coverage]) -> Table:
    """One row per delay and confidence, one column per predictor: share inside, and the interval's mean width."""
    made = Table(title="Next delay inside the interval: median of seeds (least..greatest), mean width", title_justify="left")
    for head in ("delay", "confidence", *PREDICTORS):
        made.add_column(head, justify="left" if head == "delay" else "right")
    for delay in dict.fromkeys(c.delay for c in found):
        for confidence in CONFIDENCES:
            cells = []
            for predictor in PREDICTORS:
                of = [c for c in found if (c.delay, c.confidence, c.predictor) == (delay, confidence, predictor)]
                hit = Spread.of([c.hit for c in of])
                width = sum(c.width_ms for c in of) / len(of)
                cells.append(f"{hit.middle:.1%} ({hit.low:.1%}..{hit.high:.1%}), {width:.0f} ms")
            made.add_row(delay, f"{confidence:.0%}", *cells)
    return made
