"""XLSX: what the cells show, one paragraph for each row, and in which cells it stands."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from tests.unit.tools.documents.making import changed, read, sheet, xlsx

from stepwell.tools.documents.formats.numbers import show_number
from stepwell.tools.documents.parts import place_of

ROWS = [("Region", "Quarter", "Sales"), ("North", "Q1", 1200), ("South", "Q1", 950.5)]


def rows_of(content: bytes) -> list[str]:
    """The paragraphs below the sheet's name."""
    return read(content, "a.xlsx").text.split("\n\n")[1:]


def test_a_row_is_read_with_its_headers_and_named_by_its_cells():
    page = read(sheet(ROWS), "a.xlsx")
    assert page.text == "# Sales\n\nRegion: North; Quarter: Q1; Sales: 1200\n\nRegion: South; Quarter: Q1; Sales: 950.5"
    begin = page.text.index("Region: South")
    assert place_of(page.parts, begin, begin + 10) == "sheet Sales, A3:C3"
    assert place_of(page.parts, page.text.index("Region: North"), len(page.text)) == "sheet Sales, A2:C3"


def test_a_title_above_the_header_is_a_title():
    assert rows_of(sheet([("Sales of the year",), (), *ROWS])) == [
        "Sales of the year",
        "Region: North; Quarter: Q1; Sales: 1200",
        "Region: South; Quarter: Q1; Sales: 950.5",
    ]
    assert rows_of(sheet([("Sales of the year",), *ROWS]))[:2] == [
        "Sales of the year",
        "Region: North; Quarter: Q1; Sales: 1200",
    ]


def test_years_name_columns():
    assert rows_of(sheet([("Region", 2023, 2024), ("North", 5, 7)])) == ["Region: North; 2023: 5; 2024: 7"]


def test_tables_below_each_other_have_their_own_headers():
    rows = [*ROWS, (), ("Well", "Depth"), ("Kessel", 12), (), ("Aue", 9)]
    assert rows_of(sheet(rows))[2:] == ["Well: Kessel; Depth: 12", "Well: Aue; Depth: 9"]


def test_names_with_their_values_have_no_header():
    assert rows_of(sheet([("Company", "Acme"), ("Founded", 1890), ("Seat", "Bern")])) == [
        "Company: Acme",
        "Founded: 1890",
        "Seat: Bern",
    ]


def test_rows_of_numbers_alone_are_read_without_headers():
    assert rows_of(sheet([(1, 2), (3, 4)])) == ["1; 2", "3; 4"]


def test_a_merged_cell_shows_its_value_in_each_of_its_rows():
    def build(book: Any) -> None:
        for row in [("Region", "Well"), ("North", "Kessel"), (None, "Aue"), ("South", "Tal")]:
            book.active.append(row)
        book.active.merge_cells("A2:A3")

    assert rows_of(xlsx(build)) == ["Region: North; Well: Kessel", "Region: North; Well: Aue", "Region: South; Well: Tal"]


def test_cells_show_what_a_person_sees():
    def build(book: Any) -> None:
        book.active.append(["Day", "Moment", "Share", "Price", "Loss", "Done"])
        book.active.append([date(2025, 5, 3), datetime(2025, 5, 3, 14, 5), 0.125, 1234.5, -1200, True])
        for cell, code in zip(
            "ABCDE", ["d mmmm yyyy", "yyyy-mm-dd hh:mm", "0.0%", '"$"#,##0.00', "#,##0;(#,##0)"], strict=True
        ):
            book.active[f"{cell}2"].number_format = code

    assert rows_of(xlsx(build)) == [
        "Day: 3 May 2025; Moment: 2025-05-03 14:05; Share: 12.5%; Price: $1,234.50; Loss: (1,200); Done: TRUE"
    ]


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.3, "0%", "30%"), (1234567.891, "#,##0.00", "1,234,567.89"), (45780, "dd/mm/yyyy", "03/05/2025"),
        (45780.5, "h:mm AM/PM", "12:00 PM"),
        (1.5, "[h]:mm", "36:00"), (12300, "0.00E+00", "1.23E+04"), (5, "000", "005"), (1500000, '0.0,,"M"', "1.5M"),
        (-3.25, "0.00", "-3.25"),
        (12, "[$€-407] #,##0", "€ 12"), (12.5, '#,##0.00 "EUR"', "12.50 EUR"), (0, '0;-0;"none"', "none"), (45780, "mmm-yy", "May-25"),
        (2.5, "General", "2.5"), (0.1 + 0.2, "General", "0.3"), (1e300, "yyyy", "1e+300"), (7, "x" * 300, "7"),
        (45780, "ddd d mmm", "Sat 3 May"),
        (0.5, "# ?/?", "0.5"), (12, "#.##", "12"), (0.75, "mm:ss", "00:00"), (1, '"', "1"), (1, ";;;", "1"),
    ],
)  # fmt: skip
def test_number_formats(value: float, code: str, shown: str):
    assert show_number(float(value), code) == shown


def test_a_formula_has_its_stored_value_and_one_without_is_named():
    content = sheet([("Well", "Depth"), ("Kessel", "=1+2"), ("Aue", "=3+4")])
    stored = changed(
        content, {"xl/worksheets/sheet1.xml": lambda xml: xml.replace(b"<f>1+2</f><v></v>", b"<f>1+2</f><v>3</v>")}
    )
    page = read(stored, "a.xlsx")
    assert page.text.split("\n\n")[1:] == ["Well: Kessel; Depth: 3", "Well: Aue"]
    assert page.note == "1 formula has no stored value. Open the file in Excel and save it to get one."


def test_hidden_sheets_are_named():
    def build(book: Any) -> None:
        book.active.title = "Shown"
        book.active.append(["a word", "another"])
        book.create_sheet("Secret").append(["hidden words", "here"])
        book["Secret"].sheet_state = "hidden"

    page = read(xlsx(build), "a.xlsx")
    assert "hidden words" in page.text
    assert page.note == "Hidden sheets, which were read too: Secret."
    assert {part.name for part in page.parts} == {"sheet Shown", "sheet Secret"}


def test_many_rows_share_parts_and_still_know_their_cells():
    page = read(sheet([("Number", "Square"), *((n, n * n) for n in range(1, 12_001))]), "a.xlsx")
    assert len(page.parts) <= 5_000
    begin = page.text.index("Number: 12000;")
    assert place_of(page.parts, begin, begin + 5) in [f"sheet Sales, A{first}:B12001" for first in (12_001, 12_000, 11_999)]


def test_dates_from_1904_are_counted_from_there():
    def build(book: Any) -> None:
        book.epoch = CALENDAR_MAC_1904
        book.active.append(["Day", "Note"])
        book.active.append([date(2025, 5, 3), "x"])

    assert rows_of(xlsx(build)) == ["Day: 2025-05-03; Note: x"]
