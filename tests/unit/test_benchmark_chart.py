"""The chart of the benchmarks shows the figures of the published table."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.chart import IMAGE, PAGE, SHOWN, draw

HEAD = "| claim | target | ours | floor | peer | verdict |\n"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_chart_is_drawn_from_the_published_table() -> None:
    assert IMAGE.read_text() == draw(PAGE.read_text()), "Redraw it with: python benchmarks/chart.py"


def test_every_figure_that_the_chart_is_made_for_is_in_the_table() -> None:
    shown = texts(IMAGE.read_text())
    assert [row.title for row in SHOWN if row.title not in shown] == []


def test_a_row_shows_both_figures_and_how_many_times_less() -> None:
    page = HEAD + "| CPU per no-op step, sync | ≤ 1.1x floor | 0.50x | 1.00x | 2.00x | met |"
    assert {"CPU per step", "0.50x", "2.00x", "4.0x"} <= set(texts(draw(page)))


def test_of_two_rows_with_one_name_the_first_is_shown() -> None:
    row = "| the same, false claims left unmarked | ≤ 2 % | {} % | – | 100.0 % | met |\n"
    shown = texts(draw(HEAD + row.format("0.5") + row.format("1.9")))
    assert "0.5 %" in shown
    assert "1.9 %" not in shown


def test_rows_that_were_not_measured_are_left_out() -> None:
    page = HEAD + "| create with 5 subagents | ≤ 3x floor | 1.75x | 1.05x | – | met |"
    assert "Creating an agent with 5 subagents" not in texts(draw(page))
