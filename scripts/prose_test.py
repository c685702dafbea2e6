"""Right and wrong sentences; what a comment, a paragraph and an example are; which files are read."""
import unittest

import prose


def kinds(text, path="a.md"):
    return [kind for _, kind, _ in prose.faults(path, text)]


class ProseTest(unittest.TestCase):
    def test_what_needs_its_noun(self):
        for wrong in ("Prints what was measured.", "What is left goes.", "It keeps what has changed."):
            self.assertEqual(["what"], kinds(wrong), wrong)
        for right in ("What is a table?", "A message says what is wrong.", "It names what is missing.",
                      "Says what driver was used.", "Says what it is."):
            self.assertEqual([], kinds(right), right)

    def test_each_what_counts(self):
        self.assertEqual(["what", "what"], kinds("What is read is what was written."))

    def test_paragraphs_and_items_do_not_begin_with_of(self):
        self.assertEqual(["of"], kinds("Of two tables the newer one serves."))
        self.assertEqual(["of"], kinds("A list:\n- Of two tables the newer one serves."))
        self.assertEqual(["of"], kinds("// Of a table.\nint a;\n", "a.h"))
        self.assertEqual(["of"], kinds("int a;  // Of a table.\n", "a.h"))
        self.assertEqual([], kinds("One of two.\nOffers a table.\n"))

    def test_sentences_have_at_most_thirty_words(self):
        words = "word " * 29
        self.assertEqual([], kinds(words + "end. " + words + "end."))
        self.assertEqual(["long"], kinds(words + "one end."))
        self.assertEqual([], kinds(words + "end. `fit` is another."))
        self.assertEqual([], kinds("Errors: W" + words[1:] + "end."))
        self.assertEqual([], kinds("`a b c d` " * 30))
        self.assertEqual(["long"], kinds(words + "e.g. end."))

    def test_a_sentence_goes_over_lines(self):
        text = "// %s\n// %s.\nint a;\n" % ("word " * 16, "word " * 16)
        self.assertEqual([(1, "long")], [fault[:2] for fault in prose.faults("a.h", text)])

    def test_reads_comments_of_c(self):
        text = "/* What is here\n * goes.\n *\n *   what is(code);\n */\nint a; /* Of b. */\nint what = is;\n"
        self.assertEqual([(1, "what"), (6, "of")], [fault[:2] for fault in prose.faults("a.h", text)])

    def test_reads_no_code_tables_or_headings(self):
        self.assertEqual([], kinds("# What is there\n| what is there |\n```\nwhat is there\n```\n"))
        self.assertEqual([], kinds("//   what is(there);\nauto what = is;\n", "a.h"))
        self.assertEqual(["what"], kinds("// Errors: of another table,\n//         what is there.\n", "a.h"))
        self.assertEqual(["what"], kinds("// - An item that says\n//   what is there.\n", "a.h"))

    def test_reads_headers_and_pages_but_no_history(self):
        for path in ("README.md", "docs/tables.md", "client/include/wavetune/tuner.h", "server/a.h"):
            self.assertTrue(prose.is_read(path), path)
        for path in ("docs/results.md", "docs/decisions/0001.md", "CHANGELOG.md", "research/notebook.md", "server/a.cc"):
            self.assertFalse(prose.is_read(path), path)


if __name__ == "__main__":
    unittest.main()
