"""The chain of stateless steps, and the mean distance in sliding windows: in Spark."""

from typing import Any

from headway.errors import SettingError
from headway_lab.workloads.feed import parsed
from headway_lab.workloads.taxi.trips import BOROUGHS, KM_PER_HUNDREDTH, POSSIBLE, SCHEMA, ZONES


def typed(rows: Any) -> Any:
    """The trips in column `value`, beside the other columns."""
    return parsed(rows, SCHEMA)


def _others(rows: Any) -> list[str]:
    return [name for name in rows.columns if name != "value"]


def chain(rows: Any) -> Any:
    """The stateless steps: parse, count in whole hundredths, clean, convert, look up the boroughs, project.

    Put the watermark on the result, by `event_time`. Steps whose columns a query does not use cost nothing: Spark drops
    them. A window over the whole city needs neither the boroughs nor the kilometres.
    """
    return (
        typed(rows)
        .selectExpr("*", "cast(round(distance * 100) as bigint) as hundredths")
        .where(POSSIBLE)
        .selectExpr("*", f"hundredths * {KM_PER_HUNDREDTH}D as km")
        .selectExpr("*", f"{_borough('pickup_zone')} as borough", f"{_borough('dropoff_zone')} as to_borough")
        .selectExpr(
            "event_time", "borough", "to_borough", "hundredths", "km", "fare", "passengers", "seconds", *_others(rows)
        )
    )


def mean_distance(
    rows: Any, size_ms: int = 2_000, slide_ms: int = 1_000, by_borough: bool = False, offset_ms: int = 0
) -> Any:
    """The sum, count and mean of the distance per `window`, and per `borough` of the pickup if so wished.

    Columns: window, borough (if so wished), hundredths, trips, mean_miles. Put the watermark on `rows` first.
    """
    require_windows(size_ms, slide_ms)
    keys = ["window", *(["borough"] if by_borough else [])]
    lengths = ", ".join(f"'{ms} milliseconds'" for ms in (size_ms, slide_ms, offset_ms))
    window = f"window(event_time, {lengths}) as window"
    return (
        rows.selectExpr(window, *keys[1:], "hundredths")
        .groupBy(*keys)
        .agg({"hundredths": "sum", "*": "count"})
        .selectExpr(*keys, "`sum(hundredths)` as hundredths", "`count(1)` as trips")
        .selectExpr("*", "hundredths / trips / 100D as mean_miles")
    )


def _borough(zone: str) -> str:
    """The SQL for the borough's name. Letters beyond the text would be empty, but letter 0 would be the first."""
    letter = f"if({zone} between 1 and {len(ZONES)}, substring('{ZONES}', {zone}, 1), '')"
    pairs = ", ".join(f"'{key}', '{name}'" for key, name in BOROUGHS.items())
    return f"decode({letter}, {pairs}, 'Unknown')"


def require_windows(size_ms: int, slide_ms: int) -> None:
    if not 1 <= slide_ms <= size_ms:
        raise SettingError("taxi.slide_ms", slide_ms, f"1 up to size_ms = {size_ms}")
