r"""Files that are one JSON value: a list of objects, or an object of texts, of objects, or with a list of objects.

The value is parsed as a stream. Half of a surrogate pair (``\ud800`` alone), which is no text, becomes a question mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from gem_index.common.json_input import MAX_DEPTH, JsonError, parse_json
from gem_index.errors import Action, Advice, InputError, Message, RecordError
from gem_index.errors.quoting import quoted, quoted_path
from gem_index.readers.fields import LINE
from gem_index.readers.lines import Record, RecordFile

__all__ = ["KEY", "VALUE", "is_json_lines", "read_json"]

KEY = "key"
"""The field that holds the name of an entry of an object."""

VALUE = "value"
"""The field that holds the text of an entry of an object."""

_BLOCK = 1 << 16
_BOM = b"\xef\xbb\xbf"
_HELD = 100  # entries that may come before a list of objects
_NAMED = 8  # names of other lists in a note

_Event: TypeAlias = tuple[str, Any]


def is_json_lines(begin: bytes) -> bool:
    """Tell whether a file with this beginning has one JSON object per line, and more than one."""
    first, _, rest = begin.removeprefix(_BOM).lstrip().partition(b"\n")
    if not first.startswith(b"{") or not rest.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(parse_json(first), dict)
    except JsonError:
        return False


def read_json(source: RecordFile) -> Iterator[Record]:
    """Iterate over the records of a JSON value; the number of a record counts from 1.

    - A list: each object is a record; a text is a record with the field ``text``.
    - An object with the field of the text: it is one record.
    - An object with a list of objects under one key: each of these is a record.
    - Any other object: each entry is a record, with its name as ``key``, and its text as ``value`` or the fields of its
      object.

    Raises
    ------
    InputError
        If the file is not JSON, has none of these forms, or several lists of objects; RecordError if a record is too long.
    """
    return _Reader(source).records()


class _Reader:
    def __init__(self, source: RecordFile) -> None:
        self._source = source
        self._record = 0
        self._unread = 0  # bytes since the last complete record
        self._events = self._parsed()

    def records(self) -> Iterator[Record]:
        first = next(self._events, None)
        if first is None:
            return  # an empty file
        event, _ = first
        table = self._source.form.table
        if table is not None:
            event = self._enter(event, table.split("."))
        if event == "start_array":
            yield from self._items()
        elif event == "start_map":
            yield from self._entries(table is None)
        else:
            raise self._error(
                f"is a JSON {event}; expected a list of objects, or an object of texts or with a list of objects"
            )
        for _ in self._events:
            pass  # an error after the records is an error of the file

    def _parsed(self) -> Iterator[_Event]:
        """Iterate over the events of the parser."""
        import ijson

        events = ijson.sendable_list()
        # Without use_float, ijson 3.6 ends the process at an integer of more than 4,300 digits.
        parser = ijson.basic_parse_coro(events, use_float=True)
        begin = True
        size = min(_BLOCK, self._source.limit)
        while block := self._source.file.read(size):
            reason = _sent(parser.send, block.removeprefix(_BOM) if begin else block)
            begin = False
            self._unread += len(block)
            yield from events
            del events[:]
            if reason is not None:
                raise self._not_json(reason)
            if self._unread > self._source.limit + size:
                raise RecordError(
                    self._source.name,
                    self._record + 1,
                    f"the record has more than {self._source.limit} bytes; expected at most that: "
                    "split it, or raise GEM_INDEX_MAX_RECORD_BYTES",
                )
        if begin:
            return
        reason = _sent(parser.close)
        yield from events
        if reason is not None:
            raise self._not_json(reason)

    def _not_json(self, reason: str) -> InputError:
        place = f"({reason}), after {self._record} records"
        if "overflow" in reason:
            return self._error(
                f"has a number that is too large {place}; expected integers below 2^63 and numbers within float64: write it "
                "as text"
            )
        advice = None
        if "UTF8" in reason:
            advice = Advice(Action.NAME_ENCODING, {"encoding": "auto"})
        elif "trailing garbage" in reason:
            advice = Advice(Action.READ_AS_JSON_LINES)
        return self._error(f"is not JSON {place}; expected one JSON value", advice)

    def _error(self, problem: str, advice: Advice | None = None) -> InputError:
        return InputError(f"{quoted_path(self._source.name)} {problem}", advice)

    def _enter(self, event: str, path: list[str]) -> str:
        """Go to the value at a path of keys, and return its first event."""
        for key in path:
            keys = []
            inside = self._events if event == "start_map" else iter(())
            for name, found in inside:
                if name == "end_map":
                    break
                keys.append(found)
                event, value = next(self._events)
                if found == key:
                    break
                self._value(event, value)
            if not keys or keys[-1] != key:
                named = ", ".join(map(quoted, keys[:8])) or "no key"
                raise self._error(f"has no {quoted(key)}, found {named}; expected one of its keys")
        return event

    def _items(self) -> Iterator[Record]:
        """Iterate over the records of a list that has begun."""
        for event, value in self._events:
            if event == "end_array":
                return
            yield self._next(self._value(event, value))

    def _next(self, value: Any) -> Record:
        """Return a value as the next record."""
        self._record += 1
        self._unread = 0
        if isinstance(value, str):
            return self._record, {LINE: value}
        if isinstance(value, dict):
            return self._record, value
        return self._record, Message(
            f"found a JSON {type(value).__name__}; expected an object or a text"
        )

    def _entries(self, may_have_list: bool) -> Iterator[Record]:
        """Iterate over the records of an object that has begun."""
        held: list[tuple[str, Any]] = []
        found = ""
        for event, key in self._events:
            if event == "end_map":
                break
            event, value = next(self._events)
            if may_have_list and event == "start_array":
                event, value = next(self._events)
                if event == "start_map":
                    if found:
                        raise self._error(
                            f"has several lists of objects, {quoted(found)} and {quoted(key)}; expected one",
                            Advice(Action.NAME_TABLE, {"table": key}),
                        )
                    found = key
                    yield self._next(self._value(event, value))
                    yield from self._items()
                    continue
                items = []
                while event != "end_array":
                    items.append(self._value(event, value))
                    event, value = next(self._events)
                held.append((key, items))
            else:
                held.append((key, self._value(event, value)))
            if found:
                del held[_NAMED:]
            elif len(held) > _HELD or not may_have_list:
                may_have_list = False
                yield from map(self._entry, held)
                held.clear()
        if found:
            others = ", ".join(quoted(key) for key, _ in held[:_NAMED])
            more = f"; not read: {others}" if others else ""
            self._source.note(f"the records are the list {quoted(found)}{more}")
        elif any(key in self._source.wanted[1:] for key, _ in held):
            yield self._next(dict(held))
        else:
            yield from map(self._entry, held)

    def _entry(self, entry: tuple[str, Any]) -> Record:
        key, value = entry
        if isinstance(value, dict):
            return self._next({KEY: key, **value})
        if isinstance(value, str):
            return self._next({KEY: key, VALUE: value})
        number, _ = self._next({})
        kind = type(value).__name__
        return number, Message(
            f"the value of {quoted(key)} is a JSON {kind}; expected a text or an object"
        )

    def _value(self, event: str, value: Any) -> Any:
        """Return the value that begins with an event."""
        opened: list[Any] = []
        keys: list[str] = []  # of the opened objects
        while True:
            if event == "map_key":
                keys[-1] = value
            elif event in ("start_map", "start_array"):
                if len(opened) == MAX_DEPTH:
                    raise self._error(f"is nested deeper than {MAX_DEPTH} levels; expected fewer")
                opened.append({} if event == "start_map" else [])
                keys.append("")
            else:
                if event in ("end_map", "end_array"):
                    value = opened.pop()
                    keys.pop()
                if not opened:
                    return value
                if isinstance(opened[-1], dict):
                    opened[-1][keys[-1]] = value
                else:
                    opened[-1].append(value)
            event, value = next(self._events)


def _sent(send: Callable[..., None], *block: bytes) -> str | None:
    """Send a block to the parser; return why it is not JSON, None if it is."""
    import ijson

    try:
        send(*block)
    except ijson.JSONError as error:
        told = error.args[0] if error.args else ""
        told = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
        return told.partition("\n")[0]
    return None
