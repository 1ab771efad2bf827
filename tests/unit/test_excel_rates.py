"""A total beside shares, prices and rates, which do not add up, is a total over few rows too."""

from __future__ import annotations

from typing import Any

import pytest
from documents.workbook.rates import derived, is_whole

from tests.unit.workbooks import reported, workbook

_ = None
LEFT_OUT = "The totals in row {} are not data and were left out."


@pytest.mark.parametrize("label", ["Yhteensä", "Kaikki", "Koko maa", _])
@pytest.mark.parametrize(
    "rows",
    [
        [[120, 0.4], [180, 0.6], [300, 1]],
        [[120, 2 / 5], [181, 181 / 301], [301, 1]],
        [[100, 1 / 3], [200, 2 / 3], [300, 1]],
        [[120, 40], [180, 60], [300, 100]],
        [[7, 25.9], [12, 44.4], [8, 29.6], [27, 100]],
        [[120, 0.12], [180, 0.52], [300, 0.36]],
        [[120, 4.25], [180, 5.05], [300, 4.73]],
        [[120, 4.25], [80, 5.05], [100, 3.1], [300, 4.08]],
        [[12_715, 0.1], [8_150, 0.1], [20_865, 0.1]],
    ],
    ids=str,
)
def test_a_total_over_few_rows_is_told_beside_a_column_that_does_not_add_up(
    label: str | None, rows: list[list[float]]
) -> None:
    """By its share of all, or a rate that is the mean of those above by their weights."""
    *data, total = [[name, *row] for name, row in zip("abc", rows[:-1], strict=False)], rows[-1]

    (report,) = reported(workbook(S=[["Alue", "Myynti", "Osuus"], *data[0], [label, *total]]))

    assert (len(rows) - 1, total[0]) == (report.rows, report.columns[1].sum)
    assert [LEFT_OUT.format(len(rows) + 1)] == report.notes


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        ([[100, 33.3], [200, 66.6]], [300, 100]),
        ([[100, 0.5], [200, 0.6]], [300, 0.7]),
        ([[100, 0.5, 3, 4], [200, 0.6, 1, 4]], [300, 0.55, 2, 4]),
        ([[100, 0.33, 4.5], [200, 0.67, 5.1]], [300, 1, _]),
        ([[100, _], [200, 0.67]], [300, 0.67]),
    ],
    ids=str,
)
@pytest.mark.parametrize("label", ["Total", "Yhteensä", "Kaikki", "All:"])
def test_what_is_called_a_total_needs_no_sum_in_every_column(
    rows: list[list[float | None]], total: list[float | None], label: str
) -> None:
    """One column that adds up is enough, if the others lie among those above or are no more."""
    head = ["Area", "Sales", "Share", "Price", "Score"][: len(total) + 1]
    named = [[name, *row] for name, row in zip("ab", rows, strict=True)]

    (report,) = reported(workbook(S=[head, *named, [label, *total]]))

    assert (2, 300) == (report.rows, report.columns[1].sum)
    assert [LEFT_OUT.format(4)] == report.notes


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 33], [2, 67], [3, 100]],
        [[100, 0.1], [200, 0.3], [300, 0.2]],
        [[100, 0.5], [200, 0.5], [300, 0.5]],
        [[40, 40], [30, 70], [30, 100]],
        [[100, 5], [200, 4], [300, _]],
        [[-100, 0.2], [200, 0.4], [100, 0.6]],
    ],
    ids=str,
)
def test_rows_of_data_stay_beside_rates(rows: list[list[float | None]]) -> None:
    """Steps, running shares and constants: whatever may be chance is counted, and told if so."""
    named = [[name, *row] for name, row in zip("abc", rows, strict=True)]

    (report,) = reported(workbook(S=[["Item", "Amount", "Rate"], *named]))

    assert (3, sum(row[0] or 0 for row in rows)) == (report.rows, report.columns[1].sum)


def test_evidence_is_what_another_number_would_not_have_shown() -> None:
    """A constant rate tells nothing; the weighted mean among a hundred possible ones does."""
    rows: list[dict[int, Any]] = [{1: 100, 2: 0.1}, {1: 300, 2: 0.5}]

    assert derived(rows, {1: 400, 2: 0.4}, [1]) == pytest.approx(2.32, abs=0.01)
    assert 0 == derived(rows, {1: 400, 2: 0.3}, [1])
    assert 0 == derived([{1: 100, 2: 0.4}, {1: 300, 2: 0.4}], {1: 400, 2: 0.4}, [1])
    assert is_whole(100, 99.9, 3)
    assert not is_whole(100, 90, 3)
    assert not is_whole(50, 50, 2)
