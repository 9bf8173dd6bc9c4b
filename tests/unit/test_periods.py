"""Names of periods, and the year, month or day of a date."""

import pytest

from gem_index.collection.search.periods import field_of_period, part_of_date
from gem_index.errors import InputError


@pytest.mark.parametrize(
    ("name", "field", "period"),
    [
        ("year(created)", "created", "year"),
        ("month(a.b)", "a.b", "month"),
        ("day(month(x))", "month(x)", "day"),
        ("created", "created", None),
        ("day", "day", None),
        ("day()", "day()", None),
        ("Day(created)", "Day(created)", None),
        ("week(created)", "week(created)", None),
        ("day(created) ", "day(created) ", None),
        ("my day(created)", "my day(created)", None),
    ],
)
def test_the_field_and_the_period_of_a_name(name, field, period):
    assert field_of_period(name) == (field, period)


@pytest.mark.parametrize("date", ["2024-03-05", "2024-03-05T10:11:12Z", "2024-03-05 10:11"])
def test_the_parts_of_a_date_or_time(date):
    parts = [part_of_date("day", date, period) for period in ("year", "month", "day")]
    assert parts == ["2024", "2024-03", "2024-03-05"]


@pytest.mark.parametrize("period", ["year", "month", "day"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("on 2024-03-05", "'on 2024-03-05'"),
        (" 2024-03-05", "' 2024-03-05'"),
        ("2024-3-5", "'2024-3-5'"),
        ("2024-03", "'2024-03'"),
        ("12024-03-05", "'12024-03-05'"),
        ("", "''"),
        (2024, "2024"),
        (20240305, "20240305"),
        (True, "True"),
    ],
)
def test_what_is_no_iso_date_is_told(value, shown, period):
    with pytest.raises(InputError) as refused:
        part_of_date("created", value, period)
    assert str(refused.value) == (
        f"the field 'created' has the value {shown}; expected ISO dates, such as 2024-03-05"
    )
