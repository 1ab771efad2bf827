"""Writes sample.xlsx, the workbook that `make demo` reports on. All figures are made up.

Run it again only to change the sample: `python tests/data/make_sample.py`.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.worksheet.table import Table, TableStyleInfo

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

TARGET: Final = Path(__file__).with_name("sample.xlsx")
REGIONS: Final = ("North", "South", "East", "West")
PRODUCTS: Final = (("Tent", 189.5), ("Sleeping bag", 74.9), ("Stove", 42.25), ("Lantern", 19.99))
MONTHS: Final = 12
STAMP: Final = dt.datetime(2025, 1, 15, 9, 0)  # noqa: DTZ001 - a workbook knows no time zones


def main() -> None:
    """Write the workbook; the same bytes but for the time stamps of the zip archive."""
    book = Workbook()
    book.properties.creator = "Onward"
    book.properties.created = book.properties.modified = STAMP
    orders = book.active
    if orders is None:
        raise RuntimeError("a new workbook has a sheet")
    orders.title = "Orders"
    write_orders(orders)
    write_visits(book.create_sheet("Shop visits"))
    write_stock(book.create_sheet("Stock"))
    book.save(TARGET)


def write_orders(sheet: Worksheet) -> None:
    """A declared table of 64 orders with dates, amounts and a rate."""
    sheet.append(
        ["Date", "Region", "Product", "Units", "Unit price", "Revenue", "Discount", "Paid"]
    )
    for number in range(64):
        product, price = PRODUCTS[(number * 7 + number // 5) % len(PRODUCTS)]
        units = 1 + (number * 13 + number // 3) % 9
        discount = (0, 0, 0.05, 0.1)[(number * 3 + number // 7) % 4]
        revenue = round(units * price * (1 - discount), 2)
        day = dt.date(2024, 1, 3) + dt.timedelta(days=number * 5 + number % 3)
        region = REGIONS[(number * 5 + number // 4) % len(REGIONS)]
        paid = number % 11 != 7
        sheet.append([day, region, product, units, price, revenue, discount, paid])
    for row in range(2, 66):
        sheet.cell(row, 1).number_format = "yyyy-mm-dd"
        sheet.cell(row, 7).number_format = "0%"
    table = Table(displayName="Orders", ref="A1:H65")
    table.tableStyleInfo = TableStyleInfo(name="TableStyleMedium2", showRowStripes=True)
    sheet.add_table(table)


def write_visits(sheet: Worksheet) -> None:
    """A plain table below a title, with gaps, a row of totals and a remark."""
    sheet["A1"] = "Visitors of the three shops, 2024"
    sheet["A1"].font = Font(bold=True, size=14)
    sheet.append([])
    sheet.append(["Month", "Harbour", "Old town", "Station"])
    rows: list[list[int | None]] = []
    for month in range(MONTHS):
        season = 40 * (6 - abs(month - 6))
        rows.append([310 + season + month * 3, 275 + season // 2, 420 + (month * 37) % 90])
    rows[1][1] = None  # closed for repairs
    for month, visits in enumerate(rows, start=1):
        sheet.append([dt.date(2024, month, 1), *visits])
        sheet.cell(sheet.max_row, 1).number_format = "mmm yyyy"
    sheet.append(["Total", *(sum(row[at] or 0 for row in rows) for at in range(3))])
    sheet.append([])
    sheet.append(["Source: counters at the doors. The old town shop was closed in February."])


def write_stock(sheet: Worksheet) -> None:
    """Two small tables side by side, one with a two-row header."""
    sheet.append(["Product", "On hand", "Reserved", None, "Supplier", "Lead time"])
    sheet.append([None, "(pieces)", "(pieces)", None, None, "(days)"])
    suppliers = (("Alpine Goods", 12), ("Brightworks", 21), ("Camp & Co", 9))
    for at, (product, _) in enumerate(PRODUCTS):
        supplier = suppliers[at] if at < len(suppliers) else (None, None)
        sheet.append([product, 140 - at * 23, 12 + at * 5, None, *supplier])


if __name__ == "__main__":
    main()
