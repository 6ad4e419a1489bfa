"""When crons run: expressions, time zones, and clocks that change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import InvalidRequestError
from stepwell.runs.crons.schedule import Schedule, parse_schedule

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "Pacific/Apia", None)
SPRING = (datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 5, tzinfo=UTC))
AUTUMN = (datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 5, tzinfo=UTC))


def slots(expression: str, span: tuple[datetime, datetime], zone: str | None = "Europe/Berlin") -> list[str]:
    return [f"{slot:%H:%M}" for slot in parse_schedule(expression, zone).between(*span)]


@pytest.mark.parametrize(
    ("expression", "spring", "autumn"),
    [
        ("30 2 * * *", ["01:00"], ["00:30"]),
        ("0 2,3 * * *", ["01:00"], ["00:00", "02:00"]),
        ("15,45 2 * * *", ["01:00"], ["00:15", "00:45"]),
        ("0 */2 * * *", ["02:00", "04:00"], ["00:00", "01:00", "03:00", "05:00"]),
    ],
)
def test_clocks_that_change(expression: str, spring: list[str], autumn: list[str]):
    assert slots(expression, SPRING) == spring
    assert slots(expression, AUTUMN) == autumn


def test_an_interval_goes_on_as_time_passes():
    for start, end in (SPRING, AUTUMN):
        found = Schedule("*/15 * * * *", "Europe/Berlin").between(start, end)
        assert found == [start + timedelta(minutes=15 * (n + 1)) for n in range(len(found))]
        assert found[-1] == end


def test_a_fixed_time_does_not_come_again_in_the_second_hour():
    second_pass = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)
    assert Schedule("30 2 * * *", "Europe/Berlin").next_after(second_pass) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "meant"), [("@hourly", "0 * * * *"), ("@Daily", "0 0 * * *"), ("@weekly", "0 0 * * 0"), ("@yearly", "0 0 1 1 *")]
)
def test_names_of_schedules(name: str, meant: str):
    now = datetime(2026, 5, 5, 5, 5, tzinfo=UTC)
    assert parse_schedule(name, None).next_after(now) == parse_schedule(meant, None).next_after(now)


@pytest.mark.parametrize(
    ("expression", "zone", "said"),
    [
        ("", None, "0 fields"),
        ("* * * * * *", None, "6 fields"),
        ("99 * * * *", None, "bad minute"),
        ("0 0 31 4 *", None, "bad day-of-month"),
        ("*/0 * * * *", None, "bad minute"),
        ("0 9 * * *", "Mars/Olympus", "no time zone 'Mars/Olympus'"),
        ("0 9 * * *", "/etc/localtime", "no time zone"),
        ("0 9 * * *", "", "no time zone"),
    ],
)
def test_what_is_wrong_is_said(expression: str, zone: str | None, said: str):
    with pytest.raises(InvalidRequestError, match=said):
        parse_schedule(expression, zone)


@given(st.text(alphabet="0123456789*/,-L#W ABCJANMON@", max_size=40), st.sampled_from(ZONES))
def test_any_text_is_a_schedule_or_refused(text: str, zone: str | None):
    try:
        schedule = parse_schedule(text, zone)
    except InvalidRequestError:
        return
    start = datetime(2026, 1, 1, tzinfo=UTC)
    first = schedule.next_after(start)
    assert first is None or first > start


@given(
    st.sampled_from(["30 2 * * *", "*/20 * * * *", "0 */3 * * *", "15 0 * * *", "0 0 1 * *", "59 23 * * sun"]),
    st.sampled_from(ZONES),
    st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1)),
    st.lists(st.integers(1, 4000), min_size=1, max_size=20),
)
def test_slots_do_not_depend_on_when_one_looks(expression: str, zone: str | None, start: datetime, pauses: list[int]):
    """However often the scheduler looks, it finds each slot once."""
    schedule, since = Schedule(expression, zone), start.replace(tzinfo=UTC)
    end = since + timedelta(minutes=sum(pauses))
    whole = schedule.between(since, end)
    found, now = [], since
    for pause in pauses:
        later = now + timedelta(minutes=pause)
        found += schedule.between(found[-1] if found else since, later)
        now = later
    assert found == whole


def test_the_newest_slots_of_years_are_found_quickly():
    start, end = datetime(2000, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    found, more = Schedule("* * * * *", "Europe/Berlin").newest_between(start, end, 100)
    assert more
    assert found[-1] == end
    assert len(found) < 1000
    rare, more = Schedule("0 0 29 2 *").newest_between(start, end, 100)
    assert ([slot.year for slot in rare], more) == ([2000, 2004, 2008, 2012, 2016, 2020, 2024], False)
