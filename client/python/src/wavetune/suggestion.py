"""What an error says of a name that is not known: the known one that was meant."""

from __future__ import annotations

import difflib
from typing import Any, Iterable

__all__ = ["suggestion"]


def suggestion(name: Any, known: Iterable[str]) -> str:
    """Returns "; did you mean 'x'?" with the nearest of the known names, or "; there are a, b" where none is near."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names) or 'none'}"
