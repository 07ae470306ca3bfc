"""Puts the known bugs of a table into copies of sources, each to be switched on at run time (mutants.hpp).

    mutate.py TABLE OUTPUT ROOT SOURCE...

writes each SOURCE below ROOT to the same place below OUTPUT, with the mutants that the table has for it, and
OUTPUT/mutant_names.inc. A file that would not change is left alone, so that nothing is compiled for it.

A table has blocks. A line that is not indented is a place: some code that is found exactly once in all sources. The
part in {{ }} is what the indented lines below replace. Each of them has the mutant's name, a colon and an expression;
or, in place of the colon, an equals sign and statements, in which ON is whether the mutant is switched on. `@` stands
for the part. White space and comments do not matter, neither in the table nor in the sources. A mutant may have several blocks.
A line that begins with "in the tests:" names mutants that are no change of the sources.
"""

import re
import sys
from pathlib import Path

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|\s+|.', re.DOTALL)


class Fault(Exception):
    pass


def condensed(text):
    """The text without comments and white space, but for a space between two words; and where each character was."""
    out, places, gap = [], [], False
    for token in TOKEN.finditer(text):
        word = token.group()
        if word.isspace() or word.startswith(("//", "/*")):
            gap = True
            continue
        if gap and out and is_word(out[-1]) and is_word(word[0]):
            out.append(" ")
            places.append(token.start())
        gap = False
        out.extend(word)
        places.extend(range(token.start(), token.end()))
    return "".join(out), places


def is_word(character):
    return character.isalnum() or character == "_"


class Place:
    def __init__(self, line, text):
        self.line, self.text = line, text
        halves = re.fullmatch(r"(.*?)\{\{(.*?)\}\}(.*)", text)
        if not halves:
            raise Fault(f"line {line}: no part in {{{{ }}}}: {text}")
        before, part, after = (condensed(half)[0] for half in halves.groups())
        self.whole = condensed("".join(halves.groups()))[0]
        self.start = self.whole.index(before) + len(before) if before else 0
        if self.whole[self.start : self.start + 1] == " ":
            self.start += 1
        self.length = len(part)
        self.rows = []


def places_of(table):
    """The places, and the names of the mutants that have none."""
    found, elsewhere = [], []
    for number, line in enumerate(table.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("in the tests:"):
            elsewhere += line.partition(":")[2].split()
            continue
        if not line.startswith(" "):
            found.append(Place(number, line.strip()))
            continue
        row = re.fullmatch(r"\s+(\w+)\s*([:=])\s*(.*)", line)
        if not row or not found:
            raise Fault(f"line {number}: neither a place nor a replacement: {line}")
        found[-1].rows.append(row.groups())
    return found, elsewhere


def occurrences(text, what):
    at = text.find(what)
    while at >= 0:
        if not (is_word(what[0]) and at > 0 and is_word(text[at - 1])):
            yield at
        at = text.find(what, at + 1)


def located(place, sources):
    """The source, and from where to where the part is in it."""
    hits = [(name, at) for name, (_, text, _) in sources.items() for at in occurrences(text, place.whole)]
    if len(hits) != 1:
        where = ", ".join(name for name, _ in hits) or "nowhere"
        raise Fault(f"line {place.line}: found {len(hits)} times ({where}): {place.text}")
    name, at = hits[0]
    _, _, positions = sources[name]
    first = at + place.start
    if place.length:
        return name, positions[first], positions[first + place.length - 1] + 1
    at_the_end = place.start == len(place.whole)
    position = positions[first - 1] + 1 if at_the_end else positions[first]
    return name, position, position


def replaced(part, rows, line):
    kinds = {how for _, how, _ in rows}
    if len(kinds) != 1:
        raise Fault(f"line {line}: expressions and statements for one part")
    if kinds == {":"}:
        is_condition = any(by in ("true", "false") for _, _, by in rows) # of any type that can be one
        value = f"static_cast<bool>({part})" if is_condition else f"({part})"
        for name, _, by in reversed(rows):
            value = f"{on(name)} ? ({by.replace('@', f'({part})')}) : {value}"
        return f"({value})"
    value = part
    for name, _, by in rows:
        text = re.sub(r"\bON\b", on(name), by)
        value = text.replace("@", value) if part else f"{text} {value}"
    return value


def on(name):
    return f"::zklock::mutants::on(::zklock::mutants::id::{name})"


def mutated(name, text, changes):
    out, at = [f'#include "mutants/mutants.hpp"\n#line 1 "{name}"\n'], 0
    for start, end, rows, line in sorted(changes, key=lambda change: change[:2]):
        if start < at:
            raise Fault(f"line {line}: overlaps the part of another block")
        out += [text[at:start], replaced(text[start:end], rows, line)]
        at = end
    return "".join(out) + text[at:]


def write(path, text):
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main(table, output, root, *names):
    sources = {}
    for name in names:
        text = (Path(root) / name).read_text()
        sources[name] = (text, *condensed(text))
    places, elsewhere = places_of(Path(table))
    changes, all_names = {}, set(elsewhere)
    for place in places:
        name, start, end = located(place, sources)
        of_file = changes.setdefault(name, {})
        of_file.setdefault((start, end), ([], place.line))[0].extend(place.rows)
        all_names.update(row[0] for row in place.rows)
    for name, (text, *_) in sources.items():
        parts = [(*span, rows, line) for span, (rows, line) in changes.get(name, {}).items()]
        write(Path(output) / name, mutated(str(Path(root) / name), text, parts) if parts else text)
    write(Path(output) / "mutant_names.inc", "".join(f"X({name})\n" for name in sorted(all_names)))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Fault as fault:
        sys.exit(f"{sys.argv[1]}: {fault}")
