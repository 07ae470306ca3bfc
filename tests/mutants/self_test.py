"""mutate.py puts mutants where their table says, and refuses a table that the sources do not fit."""

import tempfile
import unittest
from pathlib import Path

import mutate

SOURCE = """\
#include "a.hpp"

/// Whether it is first.
bool is_first(const place& it)
{
    if (it.before == 0 && // nobody
        !it.gone())
        return true;
    it.look(false);
    say("// ON", '"', 1'000, "don't"); /* neither
    it.gone() */
    return it.list(1, 2);
}
"""


class mutants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "src").mkdir()
        (self.folder / "src/a.cpp").write_text(SOURCE)
        (self.folder / "src/b.cpp").write_text("int other = 0;\n")

    def mutated(self, table, *, name="a.cpp"):
        (self.folder / "table").write_text(table)
        mutate.main(self.folder / "table", self.folder / "out", self.folder / "src", "a.cpp", "b.cpp")
        return (self.folder / "out" / name).read_text()

    def refused(self, table, why):
        with self.assertRaisesRegex(mutate.Fault, why):
            self.mutated(table)

    def test_an_expression_is_replaced_over_comments_and_line_breaks(self):
        text = self.mutated("if (it.before == 0 && {{!it.gone()}}) return true;\n"
                            "  gone_ones_count: @ || it.was_there()\n")
        self.assertIn("(::zklock::mutants::on(::zklock::mutants::id::gone_ones_count) ? "
                      "((!it.gone()) || it.was_there()) : (!it.gone()))", text)
        self.assertIn('#include "mutants/mutants.hpp"\n#line 1 ', text)
        self.assertIn("it.look(false);", text)

    def test_a_condition_of_any_type_may_become_true_or_false(self):
        text = self.mutated("if ({{it.before == 0 && !it.gone()}})\n  never: false\n  always: true\n")
        self.assertRegex(text, r"::never\) \? \(false\) : .*::always\) \? \(true\) : static_cast<bool>\(it\.before")

    def test_a_statement_is_left_out_or_put_before_another(self):
        text = self.mutated("{{}}it.look(false);\n  no_look = if (!ON)\n\n"
                            "it.look({{false}}); say\n  looks_well: 1 + 1\n")
        self.assertIn("if (!::zklock::mutants::on(::zklock::mutants::id::no_look)) it.look((", text)

    def test_a_statement_takes_the_place_of_another(self):
        text = self.mutated("{{it.look(false);}} say\n"
                            "  looks_twice = { it.look(true); if (!ON) it.look(false); }\n")
        self.assertRegex(text, r"    \{ it\.look\(true\); if \(.*\) it\.look\(false\); \}\n    say")

    def test_two_mutants_put_before_one_statement(self):
        text = self.mutated("{{}}it.look(false);\n  one = if (!ON)\n  two = if (!ON)\n")
        self.assertRegex(text, r"if \(!.*::two\)\) if \(!.*::one\)\) it\.look\(false\);")

    def test_what_is_put_behind_a_place(self):
        text = self.mutated("bool is_first(const place& it) { {{}}\n  goes = if (ON) return false;\n")
        self.assertRegex(text, r"\{if \(.*goes\)\) return false; \n    if \(it")

    def test_what_stands_in_literals_is_no_comment(self):
        text = self.mutated("say(\"// ON\", '\"', 1'000, \"{{don't}}\"); return\n  says_so = ON\n")
        self.assertRegex(text, r'"::zklock::mutants::on\(.*says_so\)"\); /\* neither')

    def test_the_first_letter_of_a_word_belongs_to_it(self):
        text = self.mutated("return {{it}}.list\n  other_list: @\n")
        self.assertRegex(text, r"return \(::zklock.*\? \(\(it\)\) : \(it\)\)\.list")

    def test_blocks_of_one_part_are_one(self):
        text = self.mutated("it.look({{false}})\n  b: @ || it\n\nlook({{false}}); say\n  a: true\n")
        self.assertRegex(text, r"look\(\(.*::b\) \? \(\(false\) \|\| it\) : .*::a\) \? \(true\) : static_cast<bool>\(f")

    def test_parts_in_any_order(self):
        text = self.mutated("it.look({{false}})\n  b: 2\n\nbefore == {{0}}\n  a: 1\n")
        self.assertRegex(text, r"(?s)::a\).*::b\)")

    def test_copies_whose_source_is_gone_go(self):
        self.mutated("it.look({{false}})\n  a: true\n")
        (self.folder / "out/old.hpp").write_text("")
        self.mutated("it.look({{false}})\n  a: true\n")
        self.assertFalse((self.folder / "out/old.hpp").exists())

    def test_refuses_a_source_outside_of_its_folder(self):
        (self.folder / "table").write_text("it.look({{false}})\n  a: true\n")
        for name in (str(self.folder / "src/a.cpp"), "../src/a.cpp"):
            with self.assertRaisesRegex(mutate.Fault, "is not below"):
                mutate.main(self.folder / "table", self.folder / "out", self.folder / "src", name)

    def test_sources_without_mutants_are_copied(self):
        self.assertEqual(self.mutated("it.look({{false}})\n  a: true\n", name="b.cpp"), "int other = 0;\n")

    def test_names_are_listed_once_with_those_of_the_tests(self):
        table = "it.look({{false}})\n  b: true\n\nint other = {{0}};\n  b: 1\n  a: 2\n\nin the tests: d c\n"
        self.assertEqual(self.mutated(table, name="mutant_names.inc"), "X(a)\nX(b)\nX(c)\nX(d)\n")

    def test_what_does_not_change_is_not_written_again(self):
        self.mutated("it.look({{false}})\n  a: true\n")
        before = (self.folder / "out/a.cpp").stat().st_mtime_ns
        self.mutated("# with a word on it\nit.look({{false}})\n  a: true\n")
        self.assertEqual((self.folder / "out/a.cpp").stat().st_mtime_ns, before)

    def test_refuses_a_place_that_is_not_there_or_there_twice(self):
        self.refused("it.gaze({{false}})\n  a: true\n", "line 1: found 0 times")
        self.refused("{{return}}\n  a: true\n", r"line 1: found 2 times \(a.cpp, a.cpp\)")
        self.refused("{{it.gone()}} */\n  a: true\n", "found 0 times")

    def test_a_place_begins_with_a_whole_word(self):
        self.refused("t.look({{false}})\n  a: true\n", "found 0 times")

    def test_refuses_parts_that_overlap(self):
        self.refused("{{it.look(false)}};\n  a: it.gaze()\n\nit.look({{false}});\n  b: true\n", "overlaps")

    def test_refuses_what_it_cannot_read(self):
        self.refused("it.look(false)\n  a: true\n", "no part")
        self.refused("it.look({{false}})\n  a true\n", "line 2: neither")
        self.refused("  a: true\n", "line 1: neither")
        self.refused("it.look({{false}})\n  a: true\n  b = if (ON) @\n", "expressions and statements")
        self.refused("it.look({{false}})\n", "no mutant")
        self.refused("it.look({{false}})\n  a: true\n#it.gone({{}})\n  b: true\n", "line 4: neither")

    def test_refuses_what_would_be_wrong_in_silence(self):
        self.refused("{{}}it.look(false);\n  a = if (!ON) // why\n", "a comment")
        self.refused("{{}}it.look(false);\n  a = if (NO)\n", "always on")
        self.refused("it.look({{false}})\n  a: true\n  a: false\n", "twice")
        self.refused("it.list({{1, 2}})\n  a: 3\n", "a list")
        self.refused("{{it.look(false);}}\n  a = if (ON) @\n  b = if (!ON) it.gone();\n", "more than one")


if __name__ == "__main__":
    unittest.main()
