"""`headway wan`: sites with thin links between them, on one machine, for trying out what many places do to a pipeline."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import screen, wan_run
from headway.cli.wan_run import HELD, USD_PER_GB
from headway.errors import HeadwayError, SettingError
from headway.loop.journal_file import state_folder
from headway.servers.process import alone
from headway.wan import testbed
from headway.wan.held_sites import HeldSites
from headway.wan.testbed import WanTestbed

app = typer.Typer(help="Sites with thin links, on this machine.", no_args_is_help=True)
app.command()(wan_run.run)
BandwidthOption = Annotated[float, typer.Option(help="Of each direction of each link, in Mbit/s.")]


def _note() -> Path:
    """Where `up` writes down what it has started."""
    return state_folder() / "wan.json"


@contextmanager
def _running() -> Iterator[WanTestbed]:
    found = WanTestbed.load(_note())
    if found is None or not found.alive:
        raise HeadwayError("no testbed runs: `headway wan up` starts one")
    yield found


@app.command()
def up(
    sites: Annotated[str, typer.Option(help="Their names, with commas between them.")] = "frankfurt,ohio,tokyo",
    bandwidth: BandwidthOption = 20.0,
) -> None:
    """Start sites: network namespaces with a shaped link between each two. They go with `down`, or with their keeper."""
    names = [name.strip() for name in sites.split(",") if name.strip()]
    with alone(_note().with_suffix(".lock")):
        other = WanTestbed.load(_note())
        if other is not None and other.alive:
            raise HeadwayError(f"a testbed runs already, of {', '.join(other.names)}: `headway wan down` stops it")
        started = testbed.up(names, _bits(bandwidth))
        HeldSites(state_folder() / HELD).forget()
        started.save(_note())
    for name, pid in zip(started.names, started.pids, strict=True):
        enter = f"nsenter --target {pid} --net"
        screen.out.print(f"{name} is {started.address(name)}; `{enter} COMMAND` runs there", highlight=False, soft_wrap=True)


@app.command("set-bandwidth")
def set_bandwidth(
    source: Annotated[str, typer.Argument(help="The site that sends.")],
    target: Annotated[str, typer.Argument(help="The site that receives.")],
    bandwidth: Annotated[float, typer.Argument(help="In Mbit/s.")],
    both: Annotated[bool, typer.Option("--both", help="The other direction too.")] = False,
) -> None:
    """Change a link while it is used."""
    with _running() as bed:
        bed.set_bandwidth(source, target, _bits(bandwidth))
        if both:
            bed.set_bandwidth(target, source, _bits(bandwidth))
    screen.out.print(f"{source} -> {target}: {bandwidth:g} Mbit/s", highlight=False)


@app.command("set-link")
def set_link(
    site: Annotated[str, typer.Argument(help="One end of the link.")],
    other: Annotated[str, typer.Argument(help="The other end.")],
    state: Annotated[str, typer.Argument(help="up or down.")],
) -> None:
    """Cut a link in both directions, or mend it."""
    if state not in ("up", "down"):
        raise SettingError("state", state, "up or down")
    with _running() as bed:
        bed.set_link(site, other, up=state == "up")
    screen.out.print(f"{site} - {other} is {state}", highlight=False)


@app.command("set-site")
def set_site(
    site: Annotated[str, typer.Argument(help="Its name.")],
    state: Annotated[str, typer.Argument(help="up or down.")],
) -> None:
    """Kill what computes at a site, and keep it down until it is told to be up. Its broker stays: that is its memory."""
    if state not in ("up", "down"):
        raise SettingError("state", state, "up or down")
    with _running() as bed:
        bed.address(site)  # a site that there is
    held = HeldSites(state_folder() / HELD)
    held.hold(site) if state == "down" else held.release(site)
    screen.out.print(f"{site} is to be {state}: `headway wan run` sees to it", highlight=False)


@app.command()
def status(
    usd_per_gb: Annotated[float, typer.Option(help="What a gigabyte costs that crosses a link.")] = USD_PER_GB,
) -> None:
    """Links, what went over them, and what that cost."""
    table = Table()
    for head in ("from", "to"):
        table.add_column(head)
    for head in ("Mbit/s", "MB sent", "dollars", "packets dropped"):
        table.add_column(head, justify="right")
    with _running() as bed:
        links = bed.status()
    for link in links:
        speed = f"{link.bits_per_s / 1e6:g}" if link.up else "down"
        table.add_row(link.source, link.target, speed, *_cost(link.sent_bytes, usd_per_gb), f"{link.dropped:,}")
    table.add_section()
    sent, dropped = sum(link.sent_bytes for link in links), sum(link.dropped for link in links)
    table.add_row("all", "", "", *_cost(sent, usd_per_gb), f"{dropped:,}")
    screen.out.print(table)


def _cost(sent_bytes: int, usd_per_gb: float) -> tuple[str, str]:
    return f"{sent_bytes / 1e6:,.2f}", f"{sent_bytes / 1e9 * usd_per_gb:.5f}"


@app.command()
def down() -> None:
    """Take the testbed away, with whatever is left of it."""
    with alone(_note().with_suffix(".lock")):
        found = WanTestbed.load(_note())
        if found is None:
            raise HeadwayError("no testbed of `headway wan up` is known: there is nothing to take down")
        was = found.down()
        _note().unlink(missing_ok=True)
    screen.out.print("taken down" if was else "it had ended already, and nothing is left of it", highlight=False)


def _bits(mbit: float) -> int:
    if not mbit > 0:
        raise SettingError("bandwidth", mbit, "more than 0 Mbit/s")
    return round(mbit * 1e6)
