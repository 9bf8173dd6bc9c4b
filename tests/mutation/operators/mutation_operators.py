"""Mutants that people make and cosmic-ray's operators do not: something is left out, or two steps change places.

Each operator works on nodes of parso, as those of cosmic-ray do: ``mutation_positions`` yields the places in a node that it
can change, and ``mutate`` changes the one of an index.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence

import parso
from cosmic_ray.operators.operator import Example, Operator
from parso.tree import NodeOrLeaf

__all__ = ["OperatorProvider"]

Position = tuple[tuple[int, int], tuple[int, int]]


def _children(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    return getattr(node, "children", [])


def _leaf(text: str, like: NodeOrLeaf) -> NodeOrLeaf:
    """Return an expression or ``pass``, with the blanks and comments that stand before another node."""
    leaf = parso.parse(text).children[0]
    leaf = _children(leaf)[0] if _children(leaf) else leaf
    leaf.prefix = like.get_first_leaf().prefix
    return leaf


def _is_call(node: NodeOrLeaf) -> bool:
    """Tell whether a statement only calls something."""
    if node.type != "simple_stmt":
        return False
    [first, *_] = _children(node)
    last = _children(first)[-1:] if first.type == "atom_expr" else []
    return bool(last) and last[0].type == "trailer" and _children(last[0])[0].value == "("


class _Places(Operator):
    """An operator that finds the parts of a node that it can change."""

    @abstractmethod
    def places(self, node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
        """Return these parts, in order."""

    @abstractmethod
    def change(self, node: NodeOrLeaf, part: NodeOrLeaf) -> None:
        """Change one of them."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Position]:
        for part in self.places(node):
            yield part.start_pos, part.end_pos

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        self.change(node, self.places(node)[index])
        return node


class LeaveOutCall(_Places):
    """A statement that only calls something does nothing."""

    def places(self, node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
        return [_children(node)[0]] if _is_call(node) else []

    def change(self, node: NodeOrLeaf, part: NodeOrLeaf) -> None:
        _children(node)[0] = _leaf("pass", part)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("def f():\n    # why\n    g(1)\n    return 2\n", "def f():\n    # why\n    pass\n    return 2\n"),
            Example("await a.b()\nc = d()\ne.f(g)\n", "await a.b()\nc = d()\npass\n", occurrence=1),
        )  # fmt: skip


class LeaveOutArgument(_Places):
    """An argument with a name is not passed, so that its default applies."""

    def places(self, node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
        if node.type not in ("arglist", "trailer"):
            return []
        named = [part for part in _children(node) if part.type == "argument"]
        return [
            part
            for part in named
            if _children(part)[1].type == "operator" and _children(part)[1].value == "="
        ]

    def change(self, node: NodeOrLeaf, part: NodeOrLeaf) -> None:
        parts = _children(node)
        place = parts.index(part)
        if place + 1 < len(parts) and getattr(parts[place + 1], "value", "") == ",":
            del parts[place : place + 2]
        else:
            del parts[place]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("f(a, b=1, c=2)", "f(a, c=2)"),
            Example("f(a, b=1, c=2)", "f(a, b=1,)", occurrence=1),
            Example("f(b=1).g(**c)", "f().g(**c)"),
        )


class LeaveOutCondition(_Places):
    """What depends on a condition is always done."""

    def places(self, node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
        parts = _children(node)
        if node.type not in ("if_stmt", "test", "comp_if"):
            return []
        return [
            part
            for before, part in itertools.pairwise(parts)
            if getattr(before, "value", "") in ("if", "elif")
        ]

    def change(self, node: NodeOrLeaf, part: NodeOrLeaf) -> None:
        _children(node)[_children(node).index(part)] = _leaf("True", part)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example(
                "if a:\n    b\nelif c > d:\n    e\n",
                "if a:\n    b\nelif True:\n    e\n",
                occurrence=1,
            ),
            Example("x = a if b else c", "x = a if True else c"),
            Example("x = [a for a in b if a.c]", "x = [a for a in b if True]"),
        )


class LeaveOutOperand(_Places):
    """One of several conditions that are joined by ``and`` or ``or`` is not asked."""

    def places(self, node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
        return _children(node)[::2] if node.type in ("and_test", "or_test") else []

    def change(self, node: NodeOrLeaf, part: NodeOrLeaf) -> None:
        parts = _children(node)
        place = parts.index(part)
        prefix = parts[0].get_first_leaf().prefix
        del parts[max(place - 1, 0) : max(place + 1, 2)]
        parts[0].get_first_leaf().prefix = prefix

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (
            Example("x = a and b and c", "x = b and c"),
            Example("x = a and b and c", "x = a and c", occurrence=1),
            Example("x = a or b", "x = a", occurrence=1),
        )


class SwapCalls(_Places):
    """Two calls that follow each other change places."""

    def places(self, node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
        parts = _children(node)
        if node.type not in ("suite", "file_input"):
            return []
        return [one for one, two in itertools.pairwise(parts) if _is_call(one) and _is_call(two)]

    def change(self, node: NodeOrLeaf, part: NodeOrLeaf) -> None:
        parts = _children(node)
        place = parts.index(part)
        one, two = (_children(parts[each])[0] for each in (place, place + 1))
        first, second = one.get_first_leaf(), two.get_first_leaf()
        first.prefix, second.prefix = second.prefix, first.prefix
        _children(parts[place])[0], _children(parts[place + 1])[0] = two, one

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("def f():\n    a()\n    b(1)\n", "def f():\n    b(1)\n    a()\n"),)


class ChangeText(_Places):
    """The words of a message, beside its values, are others."""

    def places(self, node: NodeOrLeaf) -> Sequence[NodeOrLeaf]:
        texts = _children(node) if node.type == "fstring" else []
        return [
            part
            for part in texts
            if part.type == "fstring_string" and any(map(str.isalpha, part.value))
        ]

    def change(self, node: NodeOrLeaf, part: NodeOrLeaf) -> None:
        part.value = "XX"

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example('x = f"{a} of {b} rows"', 'x = f"{a} of {b}XX"', occurrence=1),)


_OPERATORS = {
    each.__name__: each
    for each in (
        LeaveOutCall,
        LeaveOutArgument,
        LeaveOutCondition,
        LeaveOutOperand,
        SwapCalls,
        ChangeText,
    )
}


class OperatorProvider:
    """The operators by name, as cosmic-ray asks for them."""

    def __iter__(self) -> Iterator[str]:
        return iter(_OPERATORS)

    def __getitem__(self, name: str) -> type[Operator]:
        return _OPERATORS[name]
