"""Metadata filters in plain Python, and filters and metadata to try them on."""

import re

from hypothesis import strategies as st

MISSING = object()


def plain_match(where, metadata):
    return all(plain_entry(key, value, metadata) for key, value in where.items())


def plain_entry(key, value, metadata):
    if key == "$and":
        return all(plain_match(part, metadata) for part in value)
    if key == "$or":
        return any(plain_match(part, metadata) for part in value)
    if key == "$not":
        return not plain_match(value, metadata)
    found = plain_value(key, metadata)
    if not isinstance(value, dict):
        return plain_equal(found, value)
    return all(plain_condition(operator, operand, found) for operator, operand in value.items())


def plain_value(key, metadata):
    """The field of that name, else the one inside objects; None stands for a missing one but for $exists."""
    if key in metadata:
        return metadata[key]
    found = metadata
    for part in key.split("."):
        found = found.get(part, MISSING) if isinstance(found, dict) else MISSING
    return found


def plain_equal(a, b):
    if isinstance(a, list):
        return any(plain_same(member, b) for member in a)
    return plain_same(None if a is MISSING else a, b)


def plain_same(a, b):
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    return isinstance(a, str) == isinstance(b, str) and not isinstance(a, list | dict) and a == b


def plain_condition(operator, operand, found):
    if operator == "$in":
        return any(plain_equal(found, value) for value in operand)
    if operator == "$nin":
        return not plain_condition("$in", operand, found)
    if operator in ("$eq", "$ne"):
        return plain_equal(found, operand) is (operator == "$eq")
    if operator == "$exists":
        return (found is not MISSING) is operand
    if operator == "$contains":
        if isinstance(found, list):
            return any(plain_same(member, operand) for member in found)
        return isinstance(found, str) and isinstance(operand, str) and operand in found
    if operator == "$like":
        pattern = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in operand)
        flags = re.IGNORECASE | re.ASCII | re.DOTALL
        return isinstance(found, str) and re.fullmatch(pattern, found, flags) is not None
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return False
    if isinstance(found, str) != isinstance(operand, str):
        return False
    # SQLite compares text by its UTF-8 bytes, which is the order of code points
    return {
        "$gt": found > operand,
        "$gte": found >= operand,
        "$lt": found < operand,
        "$lte": found <= operand,
    }[operator]


keys = st.sampled_from(["a", "b", "e", "c d", "e.f", "e.b", "$x"[1:], "\u00e9"])
numbers = st.integers(-5, 5) | st.sampled_from([0.5, 2.0, -1.5, 10**12])
strings = st.sampled_from(["", "x", "y", "10", "2", "\u00e9", "\U00010000", "it's"])
scalars = st.none() | st.booleans() | numbers | strings
values = (
    scalars
    | st.lists(scalars, max_size=2)
    | st.dictionaries(st.sampled_from(["f", "b"]), scalars | st.lists(scalars, max_size=2))
)
conditions = (
    scalars
    | st.dictionaries(st.sampled_from(["$in", "$nin"]), st.lists(scalars, max_size=3), min_size=1)
    | st.dictionaries(st.sampled_from(["$eq", "$ne", "$contains"]), scalars, min_size=1)
    | st.fixed_dictionaries({"$exists": st.booleans()})
    | st.fixed_dictionaries({"$like": st.sampled_from(["%", "_", "x%", "X", "%0", "", "I%S"])})
    | st.dictionaries(
        st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), numbers | strings, min_size=1, max_size=2
    )
)
filters = st.recursive(
    st.dictionaries(keys, conditions, max_size=2),
    lambda inner: (
        st.fixed_dictionaries({"$and": st.lists(inner, max_size=2)})
        | st.fixed_dictionaries({"$or": st.lists(inner, max_size=2)})
        | st.fixed_dictionaries({"$not": inner})
    ),
    max_leaves=4,
)
