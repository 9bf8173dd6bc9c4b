"""Results and explanations for people: places, scores, the best parts of texts, and bars."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem_index_cli.output import print_table, say, visible

if TYPE_CHECKING:
    from rich.text import Text

    from gem_index.gem.combined import CombinedExplanation
    from gem_index.results import (
        Explanation,
        MatchedWord,
        MatchExplanation,
        SearchResult,
        SearchResults,
    )

__all__ = [
    "Printed",
    "print_explanation",
    "print_match",
    "print_results",
    "print_used_words",
    "result_row",
    "used_words",
]

_BAR = 10  # characters of the longest bar
_LONGEST_ID = 28  # of ids that are printed beside their text
_PAIRS = 10  # of two texts' words are shown
_SHOWN_PAIRS = 4  # below a result
_SEEN = 0.005  # a share that prints as 0.00 is not
_VISIBLE = 0.0005  # a weight that prints as 0.000 gets no bar


@dataclass(frozen=True)
class Printed:
    """How results are printed.

    Attributes
    ----------
    first : int
        The place of the first one.
    fields : sequence of str
        Fields of the metadata that are below each.
    meaning : float, optional
        The factor of the cosine in the score; None if the score is not a sum of a cosine and something else.
    why : bool
        Whether the pairs of words are below each, if they are known.
    """

    first: int = 1
    fields: Sequence[str] = ()
    meaning: float | None = None
    why: bool = True


def print_results(results: Sequence[Any], printed: Printed | None = None, title: str = "") -> None:
    """Print found or re-ranked documents: place, score, id and the beginning of the text, or its best part.

    An id is never broken; a long id has its own line. Weak results are marked.
    """
    import shutil

    from rich.cells import cell_len, set_cell_size

    if title:
        say(visible(title))
    if not results:
        say("Nothing was found.")
        return
    width = shutil.get_terminal_size().columns
    printed = printed or Printed()
    first = printed.first
    ids = [visible(_name(result)) for result in results]
    column = max((cell_len(name) for name in ids if cell_len(name) <= _LONGEST_ID), default=0)
    weak = [bool(getattr(result, "weak", None)) for result in results]
    if all(weak):
        say("All results are weak: perhaps no document answers this.")
    for place, (name, result) in enumerate(zip(ids, results, strict=True), first):
        begin = f"{place:>3}  {result.score:6.3f}  "
        if any(weak):
            begin += "weak  " if weak[place - first] else " " * 6
        if cell_len(name) > _LONGEST_ID:
            say(begin + name)
            begin = " " * len(begin)
        elif column:
            begin += set_cell_size(name, column) + "  "
        room = max(20, width - cell_len(begin))
        why = getattr(result, "why", None)
        piece = getattr(result, "piece", None)
        passage = getattr(result, "passage", None)
        text = next((part.text for part in (passage, piece) if part is not None), result.text)
        if why is None:
            say(begin + _shortened(text, room))
        else:
            compared = result.text if piece is None else piece.text
            _show(begin, _snippet(compared, why.second_words, room))
            if printed.why:
                say(" " * 13 + _why_line(why, result.score, printed.meaning))
        if piece is not None and (piece.heading or piece.page or piece.hits > 1):
            more = f"{piece.hits} pieces" if piece.hits > 1 else ""
            page = f"page {piece.page}" if piece.page else ""
            say(" " * 13 + ", ".join(filter(None, (visible(piece.heading), page, more))))
        named = [
            f"{name}: {json.dumps(result.metadata[name], ensure_ascii=False)}"
            for name in printed.fields
            if name in result.metadata
        ]
        if named:
            say(" " * 13 + visible(", ".join(named)))
        similar = getattr(result, "similar", ())
        if similar:
            say(" " * 13 + f"similar: {visible(', '.join(similar))}")


def _name(result: Any) -> str:
    """Return the id of a result, after its collection if several are searched."""
    collection = getattr(result, "collection", None)
    name = str(result.id or "")
    return name if collection is None else f"{collection}/{name}"


def print_explanation(explanation: Explanation | CombinedExplanation) -> None:
    """Print each word with its share as a bar, and its weights, for each encoder."""
    from gem_index.gem.combined import CombinedExplanation

    if not isinstance(explanation, CombinedExplanation):
        _print_weights(explanation)
        return
    for place, part in enumerate(explanation.encoders, 1):
        say(f"Encoder {place} of {len(explanation.encoders)}, weight {part.weight:g}")
        _print_weights(part.explanation)


def _print_weights(explanation: Explanation) -> None:
    from rich.text import Text

    if not explanation.words:
        say("No words: the vector is zero.")
        return
    top = max(word.share for word in explanation.words)
    rows = []
    for word in explanation.words:
        bar = "█" * round(_BAR * max(word.share, 0.0) / top) if top >= _VISIBLE else ""
        rows.append(
            (
                word.token if word.known else f"{word.token} (unknown)",
                Text(f"{word.share:z6.3f} {bar:<{_BAR}}", no_wrap=True),
                *(f"{part:.3f}" for part in (word.alpha_n, word.alpha_s, word.alpha_u)),
                f"{word.alpha:.3f}",
            )
        )
    print_table(("word", " share", ">novelty", ">significance", ">uniqueness", ">weight"), rows)


def print_match(match: MatchExplanation) -> None:
    """Print two texts, their cosine, and the pairs of words that add most to it."""
    if not match.pairs:
        say("No words: the cosine is zero.")
        return
    for text, words in ((match.first, match.first_words), (match.second, match.second_words)):
        _show("", _snippet(text, words, 10**6))
    say(f"cosine {match.cosine:.4f}")
    rows = [
        (match.first_words[p.first].token, match.second_words[p.second].token, f"{p.share:.3f}")
        for p in match.pairs[:_PAIRS]
    ]
    rest = match.cosine - sum(pair.share for pair in match.pairs[:_PAIRS])
    others = len(match.first_words) * len(match.second_words) - _PAIRS
    if others > 0:
        rows.append((f"{others} other pairs", "", f"{rest:.3f}"))
    print_table(("first", "second", ">share"), rows)


def _why_line(match: MatchExplanation, score: float, meaning: float | None) -> str:
    """Return the pairs of words that add most, in one line; a pair that comes again is counted once.

    If the factor of the cosine is known, the numbers add up to the score: its part by meaning, pair by pair, and the rest.
    """
    factor = 1.0 if meaning is None else meaning
    shares: Counter[tuple[str, str]] = Counter()
    for pair in match.pairs:
        words = match.first_words[pair.first].token, match.second_words[pair.second].token
        shares[words] += pair.share * factor  # type: ignore[assignment] # a Counter adds up any number
    shown = [(words, share) for words, share in shares.most_common(_SHOWN_PAIRS) if share >= _SEEN]
    if not shown:
        return "no word adds to the cosine"
    line = ", ".join(f"{first} ~ {second} {share:.3f}" for (first, second), share in shown)
    if meaning is None:
        return visible(line)
    total = match.cosine * meaning
    line = f"{line}, others {total - sum(share for _, share in shown):z.3f}"
    by_words = score - total
    if by_words < _VISIBLE:
        return visible(line)
    return visible(f"meaning {total:.3f} ({line}) + words {by_words:.3f}")


def _show(begin: str, text: Text) -> None:
    """Print a text and a styled text behind it in one line."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    console.print(begin, text, sep="", soft_wrap=True, markup=False, emoji=False)


def _snippet(text: str, words: Sequence[MatchedWord], room: int) -> Text:
    """Return the best part of a text, in one line, with the matching words in bold."""
    from rich.text import Text

    first, last = _best_part(words, room) if len(text) > room else (0, len(words) - 1)
    begin = words[first].begin if words and first > 0 else 0
    whole = not words or last == len(words) - 1
    end = len(text) if whole else words[last].end
    top = max((word.share for word in words), default=0.0)
    line = Text("…" if begin else "")
    place = begin
    for word in words[first : last + 1]:
        line.append(_on_a_line(text[place : word.begin]))
        matched = word.share >= (_SEEN if word.same_word else max(_SEEN, top / 4))
        line.append(visible(text[word.begin : word.end]), "bold" if matched else "")
        place = word.end
    line.append(_on_a_line(text[place:end]))
    if not whole:
        line.append("…")
    if line.cell_len > room:
        line.truncate(room, overflow="ellipsis")
    return line


def _best_part(words: Sequence[MatchedWord], room: int) -> tuple[int, int]:
    """Return the first and last of consecutive words that fit and add most to the match."""
    best, part, first, total = -1.0, (0, -1), 0, 0.0
    for last, word in enumerate(words):
        total += max(word.share, 0.0)
        while first < last and word.end - words[first].begin > room - 2:
            total -= max(words[first].share, 0.0)
            first += 1
        if total > best + 1e-9:
            best, part = total, (first, last)
    return part


def _on_a_line(text: str) -> str:
    """Return the text between words, without line breaks and runs of spaces."""
    return visible(re.sub(r"\s+", " ", text))


def _shortened(text: str, width: int) -> str:
    """Return the beginning of a text on one line, cut to ``width`` terminal columns."""
    from rich.cells import cell_len, set_cell_size

    line = visible(" ".join(text[: 4 * width].split()))
    if cell_len(line) <= width and len(text) <= 4 * width:
        return line
    return set_cell_size(line, width - 1).rstrip() + "…"


def result_row(hit: SearchResult, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return a result as JSON values, without fields that were not requested."""
    return hit.to_dict(why=wanted["why"], similar=bool(wanted.get("collapse")))


def used_words(hits: SearchResults) -> dict[str, Any]:
    """Return what was searched for instead of words of the query, and beside them; nothing where there is none."""
    used = {"corrected": dict(hits.corrected), "synonyms": dict(hits.synonyms)}
    return {name: words for name, words in used.items() if words}


def print_used_words(hits: SearchResults) -> None:
    """Print the words that were searched for instead of words of the query, and beside them."""
    for typed, used in hits.corrected.items():
        say(f"Searched for {used}; no text holds {typed} (--no-correct searches for it).")
    for form, others in hits.synonyms.items():
        say(f"Searched also for {', '.join(others)}: synonyms of {form}.")
