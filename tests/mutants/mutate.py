"""Puts the known bugs of a table into copies of sources, each to be switched on at run time (mutants.hpp).

    mutate.py TABLE OUTPUT ROOT SOURCE...

writes each SOURCE below ROOT to the same place below OUTPUT, with the mutants that the table has for it, and
OUTPUT/mutant_names.inc. A file that would not change is left alone, so that nothing is compiled for it.

A table has blocks. A line that is not indented is a place: code that is found exactly once in all sources. The
part in {{ }} is what the indented lines below replace. Each of them has the mutant's name, a colon and an expression;
or, in place of the colon, an equals sign and any text, in which ON is whether the mutant is switched on. `@` stands for
the part. Text for an empty part goes before what follows there. A part that is replaced by `true` or `false` has to be
a condition. White space does not matter, nor do comments in the sources. A mutant may have several blocks.
A line that begins with "in the tests:" names mutants that are no change of the sources.
"""

import re
import sys
from pathlib import Path

TOKEN = re.compile(r'\d[\w\'.]*|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|\s+|.', re.DOTALL)


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
        if line.startswith("#"): # a comment, or a block that is one
            found.append(None)
            continue
        if not line.strip():
            continue
        if line.startswith("in the tests:"):
            elsewhere += line.partition(":")[2].split()
            continue
        if not line.startswith(" "):
            found.append(Place(number, line.strip()))
            continue
        row = re.fullmatch(r"\s+(\w+)\s*([:=])\s*(.*)", line)
        if not row or not found or not found[-1]:
            raise Fault(f"line {number}: neither a place nor a replacement: {line}")
        check(number, *row.groups())
        found[-1].rows.append(row.groups())
    found = [place for place in found if place]
    for place in found:
        if not place.rows:
            raise Fault(f"line {place.line}: no mutant: {place.text}")
    return found, elsewhere


def check(line, name, how, by):
    if "//" in by or "/*" in by:
        raise Fault(f"line {line}: a comment in a replacement")
    if how == "=" and not re.search(r"\bON\b", by):
        raise Fault(f"line {line}: without ON {name} is always on")


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


def has_comma(part):
    """Outside of parentheses: it would become an operator."""
    depth = 0
    for token in TOKEN.findall(part):
        depth += (token in "([{") - (token in ")]}") if len(token) == 1 else 0
        if token == "," and depth == 0:
            return True
    return False


def replaced(part, rows, line):
    kinds = {how for _, how, _ in rows}
    if len(kinds) != 1:
        raise Fault(f"line {line}: expressions and statements for one part")
    if len({name for name, _, _ in rows}) != len(rows):
        raise Fault(f"line {line}: one mutant twice for one part")
    if kinds == {":"} and has_comma(part):
        raise Fault(f"line {line}: a list, which is no expression")
    if part and any(how == "=" and "@" not in by for _, how, by in rows[1:]):
        raise Fault(f"line {line}: the part is left out by more than one mutant")
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
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise Fault(f"{name} is not below {root}")
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
    if (Path(output) / "mutant_names.inc").exists(): # it is ours
        for copy in Path(output).rglob("*.[ch]pp"):
            if str(copy.relative_to(output)) not in names: # its source is gone, and it would be found first
                copy.unlink()
    write(Path(output) / "mutant_names.inc", "".join(f"X({name})\n" for name in sorted(all_names)))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Fault as fault:
        sys.exit(f"{sys.argv[1]}: {fault}")
