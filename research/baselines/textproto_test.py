import unittest

from textproto import TextProtoError, first, parse


class TextProtoTest(unittest.TestCase):
    def test_repeated_fields_and_lists_are_one(self) -> None:
        self.assertEqual(parse("a: 1 a: [2, 3]\na: -4"), {"a": [1, 2, 3, -4]})

    def test_messages_nest_with_and_without_a_colon(self) -> None:
        message = parse('rows { tile: "M" } rows: { tile: "N" }')
        self.assertEqual(message, {"rows": [{"tile": ["M"]}, {"tile": ["N"]}]})

    def test_lists_of_messages(self) -> None:
        self.assertEqual(parse("t: [{ a: 1 }, { a: 2 }]"), {"t": [{"a": [1]}, {"a": [2]}]})

    def test_comments_and_strings(self) -> None:
        text = '# a { comment\nname: "a # \\"b\\" " "c" # more\nop: LESS f: 1.5'
        self.assertEqual(parse(text), {"name": ['a # "b" c'], "op": ["LESS"], "f": [1.5]})

    def test_a_brace_in_a_string_ends_nothing(self) -> None:
        self.assertEqual(parse('a { b: "}" }'), {"a": [{"b": ["}"]}]})

    def test_faults_name_their_line(self) -> None:
        for text in ("a: 1\nb: {", "a: 1\n!", "a: 1\n: 2", "a: 1\nb: ]"):
            with self.assertRaisesRegex(TextProtoError, "line 2"):
                parse(text)

    def test_first_takes_the_default_where_nothing_is_set(self) -> None:
        self.assertEqual(first({"a": [1, 2]}, "a"), 1)
        self.assertEqual(first({}, "a", 7), 7)


if __name__ == "__main__":
    unittest.main()
