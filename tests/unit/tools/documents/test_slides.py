"""PPTX: slides in their order, with everything that a listener would see or hear."""

from __future__ import annotations

from typing import Any

from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from tests.unit.tools.documents.making import pptx, read

from stepwell.tools.documents.parts import place_of


def slide(presentation: Any, title: str, *lines: str) -> Any:
    made = presentation.slides.add_slide(presentation.slide_layouts[1])
    made.shapes.title.text = title
    made.placeholders[1].text = "\n".join(lines)
    return made


def test_a_slide_has_its_title_as_heading_and_its_lines_as_items():
    def build(presentation: Any) -> None:
        slide(presentation, "Wells", "deep", "old")
        slide(presentation, "Costs", "One sentence alone.")

    page = read(pptx(build), "a.pptx")
    assert page.text == "# Wells\n\n- deep\n- old\n\n# Costs\n\nOne sentence alone."
    assert [part.name for part in page.parts] == ["slide 1", "slide 2"]
    assert place_of(page.parts, 0, len(page.text)) == "slides 1 to 2"


def test_tables_charts_and_notes_are_read():
    def build(presentation: Any) -> None:
        made = slide(presentation, "Figures")
        table = made.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
        for place, value in enumerate(("Well", "Depth", "Kessel", "12 m")):
            table.cell(place // 2, place % 2).text = value
        data = CategoryChartData()
        data.categories = ["2023", "2024"]
        data.add_series("North", (1.5, 2.5))
        data.add_series("South", (3, 4))
        made.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(3), Inches(4), Inches(2), data)
        made.notes_slide.notes_text_frame.text = "Say that the\nwell is old."

    assert read(pptx(build), "a.pptx").text.split("\n\n") == [
        "# Figures",
        "Well: Kessel; Depth: 12 m",
        "Chart:",
        "Category: 2023; North: 1.5; South: 3",
        "Category: 2024; North: 2.5; South: 4",
        "Notes: Say that the well is old.",
    ]


def test_text_in_groups_is_read_and_a_slide_without_title_has_its_number():
    def build(presentation: Any) -> None:
        made = presentation.slides.add_slide(presentation.slide_layouts[6])
        group = made.shapes.add_group_shape()
        group.shapes.add_textbox(0, 0, 100, 100).text_frame.text = "Inside a group."

    assert read(pptx(build), "a.pptx").text == "# Slide 1\n\nInside a group."


def test_hidden_slides_are_named():
    def build(presentation: Any) -> None:
        slide(presentation, "Shown", "a line")
        slide(presentation, "Secret", "another line")._element.set("show", "0")

    page = read(pptx(build), "a.pptx")
    assert "# Secret" in page.text
    assert page.note == "Slide 2 is hidden; it was read too."
