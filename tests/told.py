"""What an error says."""

from collections.abc import Callable
from typing import Any

import pytest


def error_of(
    kind: type[BaseException], call: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """Return the error of a call; it must be of exactly this kind."""
    with pytest.raises(kind) as caught:
        call(*arguments, **options)
    assert type(caught.value) is kind
    return caught.value


def told(
    kind: type[BaseException], call: Callable[..., Any], *arguments: Any, **options: Any
) -> str:
    """Return the message of the error of a call; it must be of exactly this kind."""
    return str(error_of(kind, call, *arguments, **options))
