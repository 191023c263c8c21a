"""Random INSERT DATA and DELETE DATA requests in all spellings, well formed and ill formed."""

from __future__ import annotations

from random import Random

__all__ = ["BASES", "NAMESPACES", "data_update"]

NAMESPACES = {"": "http://e/", "e": "http://f#"}
BASES = ("", "http://base/x")
PLAIN_NAMES = ["<http://e/s>", "<urn:it's>", ":s", "e:a.b", ":", "rdf:type"]
PLAIN = [
    *PLAIN_NAMES, "'x'", '"it\'s"', "''", "'a\tb'", r"'\n'", "'x'@en", "'x'@fr-BE", "'1'^^xsd:integer",
    "'01'^^<http://www.w3.org/2001/XMLSchema#integer>", "'x'^^<urn:it's>", "0", "5", "+5", "-1.5", "1e3",
    "5.0",
]  # fmt: skip
NAMES = [*PLAIN_NAMES, "<>", "<it's>", r"e:a\,b", ":a%41", ":é", "e:"]
OBJECTS = [
    *PLAIN, *NAMES, '""', "'''x'''", r"'\u0041'", "'x' @en", "'x'@ar--rtl", "'1' ^^ xsd:byte",
    r"'x'^^e:it\'s", ".5", "true", "_:b", "[ :p 1 ]", "(1 2)",
]  # fmt: skip
STRANGE = [
    "none:x", "?x", "a", "<a b>", "'x", "'x'@en--up", "'x'^^none:y", r"'\z'", "5.", "5a", "true.b:c", ":a.",
    "\\", "{", "}", "<<( :s :p :o )>>", "{| :q 1 |}", "~ :r", ".", ";", ",", "GRAPH", "e:p/e:q", "^e:p", "",
]  # fmt: skip
GAPS = [" ", "\n", "  \t", " # it's <a> . \n"]


def data_update(random: Random, strangeness: float = 0, *, prologues: int = 3) -> str:
    """Draw a request of one to three operations.

    `strangeness` is the probability of an ill-formed token. The first `prologues` operations may have a
    prologue.
    """
    names, objects = random.choice([(PLAIN_NAMES, PLAIN), (NAMES, OBJECTS)])

    def one(usual: list[str]) -> str:
        return random.choice(STRANGE if random.random() < strangeness else usual)

    def statement() -> str:
        parts = [one(names), one([*names, "a"]), one(objects)]
        while random.random() < 0.4:
            parts += random.choice([[";", one([*names, "a"]), one(objects)], [",", one(objects)], [";"]])
        return random.choice(GAPS).join(parts)

    def block() -> str:
        made = [statement() for _ in range(random.randrange(5))]
        return random.choice([" .", " . ", "."]).join(made) + random.choice(["", " ."] if made else [""])

    def operation(may_declare: bool) -> str:
        named = "".join(
            f" GRAPH {one(names)} {{ {block()} }}{random.choice(['', ' .'])} {block()}"
            for _ in range(random.randrange(3))
        )
        verb = random.choice(["INSERT DATA", "DELETE DATA"])
        prologue = (
            random.choice(["", "PREFIX e: <http://other/> ", "BASE <http://b/> "]) if may_declare else ""
        )
        return f"{prologue}{verb} {{ {block()}{named} }}"

    return " ; ".join(operation(number < prologues) for number in range(random.randint(1, 3)))
