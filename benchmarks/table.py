"""The figures as tables of 80 columns, with a verdict on each target."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import tabulate as tables
from measuring import Interval, Times
from operations import SWEPT, Case, Target, size_text
from tabulate import tabulate

tables.MIN_PADDING = 0  # 80 columns have no room for what it puts around headers

CONTENDERS = ("C", "pyshmem", "shmem4py", "mpi4py")
SLOW_CALL = 2_000  # ns; where the engine takes longer, factors of overhead are factors of noise

LEGEND = """\
Times are medians; every round measures all, and what is compared is compared
within rounds.  target: +100 = at most C + 100 ns, or 1.02 of C's time where
that is more; 20x = at least 20 times less above C than shmem4py (not where C
takes over 2 us); 0.98 of C, for a bandwidth = at least 0.98 of C's.
met: a question mark where the 95 % interval of the rounds leaves it open."""


def time_text(nanoseconds: float | None) -> str:
    """Three digits and a unit; whole nanoseconds."""
    if nanoseconds is None:
        return "-"
    value, unit = nanoseconds, "ns"
    for larger in ("us", "ms", "s"):
        if value >= 999.5:
            value, unit = value / 1000, larger
    digits = 0 if unit == "ns" or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f}{unit}"


def met(*margins: Interval) -> str:
    """Whether all margins, by how much a limit is kept, are positive, and whether the rounds agree on it."""
    worst = min(margins, key=lambda margin: (margin.high >= 0, margin.middle >= 0, margin.low >= 0))
    return ("yes" if worst.middle >= 0 else "no") + ("?" if worst.low < 0 <= worst.high else "")


def verdict(target: Target | None, times: Times) -> tuple[str, str, str]:
    """The target in words, what was reached, and whether it is met."""
    if target is None:
        above = statistics.median(times.above_c("pyshmem"))
        return "", f"{above:+,.0f}" if abs(above) < 1e5 else "", ""
    if target.bandwidth is not None:
        share = times.of_c("pyshmem")
        result = met(Interval.of(one - target.bandwidth for one in share))
        return f"{target.bandwidth:.2f} of C", f"{statistics.median(share):.3f}", result
    return overhead_verdict(target, times)


def overhead_verdict(target: Target, times: Times) -> tuple[str, str, str]:
    """For what C does in so short a time that nanoseconds count; else the binding must simply disappear."""
    assert target.above_c is not None
    ours, c = times.above_c("pyshmem"), times.median("C") or 0
    middle = statistics.median(ours)
    if 0.02 * c > target.above_c:
        ratios = [1 / share for share in times.of_c("pyshmem")]
        return "1.02 of C", f"{statistics.median(ratios):.3f}", met(Interval.of(1.02 - ratio for ratio in ratios))
    words, reached = f"+{target.above_c:.0f}", f"{middle:+.0f}"
    margins = [Interval.of(target.above_c - above for above in ours)]
    if target.times_less is not None and "shmem4py" in times.rounds and c < SLOW_CALL:
        theirs = times.above_c("shmem4py")
        pairs = zip(theirs, ours, strict=True)
        words += f" {target.times_less:.0f}x"
        reached += f" {statistics.median(theirs) / max(middle, 1):.0f}x"
        margins.append(Interval.of(other - target.times_less * above for other, above in pairs))
    return words, reached, met(*margins)


def calls_table(results: Sequence[tuple[Case, Times]], names: Sequence[str]) -> str:
    """One line for each case, with its verdict."""
    rows = [[case.name, *(time_text(times.median(name)) for name in names), *verdict(case.target, times)]
            for case, times in results]
    return tabulate(rows, ["call", *names, "target", "reached", "met"], disable_numparse=True,
                    colalign=("left", *["right"] * len(names), "left", "right", "left"))


def sweep_table(results: Sequence[tuple[Case, Times]], names: Sequence[str]) -> str:
    """Times of put and get against the size of the message."""
    by_size: dict[int, dict[str, Times]] = {}
    for case, times in results:
        if case.operation in SWEPT:
            by_size.setdefault(case.bytes, {})[case.operation.name] = times
    operations = [operation.name for operation in SWEPT]
    rows = [[size_text(size), *(time_text(measured[operation].median(name)) if operation in measured else "-"
                                for operation in operations for name in names)]
            for size, measured in sorted(by_size.items())]
    headers = ["size", *(f"{operation}\n{name}" for operation in operations for name in names)]
    return tabulate(rows, headers, disable_numparse=True, colalign=["right"] * len(headers))
