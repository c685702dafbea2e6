"""Reads protobuf text format without generated code, so that a manifest can be read anywhere.

    message = parse('name: "gemm" values: [16, 32] mapping { rows { tile: "M" } }')
    message["name"] == ["gemm"]
    message["values"] == [16, 32]

Every field is a list, in file order, as the format cannot tell a repeated field from a single
one. Enum values and true or false are strings. Extensions and angle brackets are not known.
"""

from __future__ import annotations

import re
from typing import Any, Iterator

Message = dict[str, list[Any]]

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?f?)
      | (?P<name>[A-Za-z_][\w.]*)
      | (?P<mark>[{}\[\]:,;])""",
    re.VERBOSE,
)


class TextProtoError(ValueError):
    """The text is no protobuf text format; says where."""


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise TextProtoError(
                f"line {_line(text, position)}: {text[position]!r} is not expected"
            )
        if match.lastgroup != "space":
            yield str(match.lastgroup), match.group(), position
        position = match.end()
    yield "end", "", len(text)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _number(token: str) -> int | float:
    try:
        return int(token)
    except ValueError:
        return float(token.rstrip("f"))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._kind, self._token, self._position = next(self._tokens)

    def message(self, end: str) -> Message:
        result: Message = {}
        while not self._take(end):
            name = self._expect("name")
            field = result.setdefault(name, [])
            if self._take(":"):
                field.extend(self._values())
            else:
                field.append(self._braces())
            while self._take(",") or self._take(";"):
                pass
        return result

    def _values(self) -> list[Any]:
        if not self._take("["):
            return [self._value()]
        values: list[Any] = []
        while not self._take("]"):
            values.append(self._value())
            self._take(",")
        return values

    def _value(self) -> Any:
        if self._token == "{":
            return self._braces()
        kind, token = self._kind, self._token
        if kind not in ("string", "number", "name"):
            self._fail("a value")
        self._next()
        if kind == "number":
            return _number(token)
        if kind == "name":
            return token
        parts = [token]
        while self._kind == "string":  # Neighbouring strings are one.
            parts.append(self._token)
            self._next()
        return "".join(_unquote(part) for part in parts)

    def _braces(self) -> Message:
        if not self._take("{"):
            self._fail("'{'")
        return self.message("}")

    def _take(self, token: str) -> bool:
        at_end = token == "" and self._kind == "end"
        if not at_end and (self._token != token or self._kind == "string"):
            return False
        if not at_end:
            self._next()
        return True

    def _expect(self, kind: str) -> str:
        if self._kind != kind:
            self._fail(f"a {kind}")
        token = self._token
        self._next()
        return token

    def _next(self) -> None:
        self._kind, self._token, self._position = next(self._tokens)

    def _fail(self, wanted: str) -> None:
        line = _line(self._text, self._position)
        raise TextProtoError(f"line {line}: {self._token!r} where {wanted} is expected")


def _unquote(literal: str) -> str:
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda m: escapes.get(m.group(1), m.group(1)), literal[1:-1])


def parse(text: str) -> Message:
    """Returns the message in `text`: field name to values. Errors: TextProtoError with the line."""
    return _Parser(text).message("")


def first(message: Message, name: str, default: Any = None) -> Any:
    """Returns the field's first value, or `default` where it is not set. Cannot fail."""
    values = message.get(name)
    return values[0] if values else default
