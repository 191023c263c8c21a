r"""Regular expressions mean what XPath says, by its sets of characters, by Oxigraph and by elementpath."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from random import Random

import pytest

from rdflive.regex import RegexError, compiled, matches, replaced
from rdflive.regex.code_points import EVERYTHING, CodePoints, block, category
from rdflive.regex.tree import parsed
from support.effort import drawn_from, rounds

ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
elementpath = pytest.importorskip("elementpath.regex", reason="needs the extra rdflive[unicode]")

Test = Callable[[str], bool]

MATCHES = [
    # pattern, flags, texts that it matches somewhere, texts that it does not
    (r"^\p{Lu}", "", ["Éa", "Ab"], ["éa", "1", "ǆ", ""]),
    (r"^\P{L}+$", "", ["12", "- "], ["a1", "é"]),
    (r"^\p{L}\p{Nd}$", "", ["a1", "Ж٣"], ["a½", "11"]),
    (r"^[\i-[:]][\c-[:]]*$", "", ["a-1", "_x", "é.b"], ["1a", "a:b", "-a", "a b"]),
    (r"^\I", "", ["1", "-", " "], ["a", ":", "_"]),
    (r"^\C$", "", [" ", "$", "/"], ["a", "1", "-", ".", ":", "·"]),
    (r"^\w$", "", ["a", "é", "1", "½", "$", "+", "\u0301"], ["_", "-", ".", " ", "\u200d"]),
    (r"^\W$", "", ["_", "-", "(", "\n"], ["a", "+"]),
    (r"^\d$", "", ["1", "\N{ARABIC-INDIC DIGIT THREE}"], ["½", "a", "²"]),
    (r"^\s$", "", [" ", "\t", "\n", "\r"], ["\u00a0", "\x0b", "\u2003", "\x1c"]),
    (r"^[a-z-[aeiou]]+$", "", ["bcd", "xyz"], ["bad", "B"]),
    (r"^[^a-z-[0-9]]$", "", ["A", "-"], ["a", "5"]),
    (r"^[\p{L}-[\p{Lu}-[A]]]$", "", ["a", "A", "é"], ["B", "É"]),
    (r"^[a-]$", "", ["a", "-"], ["b"]),
    (r"^[-a]$", "", ["a", "-"], ["b"]),
    (r"^[\d-.]$", "", ["1", "-", "."], ["/"]),
    (r"^[a-c-e]$", "", ["b", "-", "e"], ["d"]),
    (r"^[a--[a]]$", "", ["-"], ["a", "b"]),
    (r"^[.^$|(]$", "", [".", "^", "$", "|", "("], ["a"]),
    (r"[a-[a]]", "", [], ["a", "", "b"]),
    (r"^.$", "", ["a", "\u2028", "\x85", "\U0001f600"], ["\n", "\r", "ab"]),
    (r"^.$", "s", ["a", "\n", "\r"], ["ab"]),
    (r"^a$", "", ["a"], ["a\n", "b\na"]),
    (r"^a$", "m", ["a", "a\n", "b\na", "b\na\nc"], ["ab", "b\nca"]),
    (r"^$", "m", ["", "a\n\nb", "\na"], ["a", "a\n"]),
    (r"^^a$$", "", ["a"], ["aa"]),
    (r"^*a", "", ["a", "ba"], ["b"]),
    (r"strasse", "i", ["STRASSE", "\u017ftrasse"], ["straße"]),
    (r"^[A-Z-[IO]]+$", "i", ["ab", "AB", "\u212a"], ["i", "O"]),
    (r"^[^Q]$", "i", ["a"], ["q", "Q"]),
    (r"^\p{Lu}$", "i", ["A"], ["a"]),
    (r"^k$", "i", ["k", "K", "\u212a"], ["x"]),
    (r"^(a)\1$", "i", ["aA", "aa"], ["ab"]),
    (r"^(ab)\1$", "", ["abab"], ["abba", "ab"]),
    (r"^(?:(a)|b)\1$", "", ["aa", "b"], ["ba", "a"]),  # a group that has matched nothing is the empty text
    (r"^(a)\12$", "", ["aa2"], ["a2"]),
    (r"^(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10$", "", ["abcdefghijj"], ["abcdefghija0"]),
    (r"^a b\ c$", "x", ["abc"], ["a bc"]),
    (r"^[a ]#$", "x", ["a#", " #"], ["a"]),
    (r"^\p{ L u }$", "x", ["A"], ["a"]),
    ("a.b(", "q", ["a.b("], ["axb("]),
    ("A.b", "iq", ["a.B"], ["axb"]),
    (r"^a{2,3}?$", "", ["aa", "aaa"], ["a", "aaaa"]),
    (r"^a{0}b{2}c{1,}$", "", ["bbc", "bbccc"], ["abbc", "bb"]),
    (r"^(a|b|)c$", "", ["c", "ac"], ["abc"]),
    (r"^()$", "", [""], ["a"]),
    (r"^\.\\\?\*\+\(\)\{\}\[\]\|\^\$\-\n\r\t$", "", [".\\?*+(){}[]|^$-\n\r\t"], [""]),
    (r"^\p{IsCyrillic}+$", "", ["Ж"], ["a"]),
    (r"^\P{IsBasicLatin}$", "", ["é"], ["e"]),
]  # fmt: skip

ILLEGAL = [
    (r"\bfoo", "", r"character 1, \\b is not an escape in XPath: XPath has no word boundaries"),
    (r"a\/b", "", r"character 2, \\/ is not an escape in XPath: write / itself"),
    (r"(?i)a", "", "flags are a separate argument"),
    (r"(?=a)", "", r"only \(\?:...\) of the forms"),
    (r"a{,3}", "", r"character 2, \{ begins a number of times"),
    (r"a{99999999999}", "", "begins a number of times"),
    (r"a{4294967295}", "", "Python cannot match it"),
    (r"a{2,1}", "", "ends before it begins"),
    (r"a{", "", "begins a number of times"),
    (r"{", "", "begins a number of times"),
    (r"}", "", r"write \\\} for the character"),
    (r"]", "", r"write \\\] for the character"),
    (r"*a", "", r"\* has nothing to repeat"),
    (r"a|+", "", r"\+ has nothing to repeat"),
    (r"a**", "", "repeats a part that is already repeated"),
    (r"a++", "", "repeats a part that is already repeated"),
    (r"a???", "", "repeats a part that is already repeated"),
    (r"(a", "", r"character 1, this \( is never closed"),
    (r"a)", "", r"character 2, there is no \( for this \)"),
    (r"[a", "", r"character 1, this \[ is never closed"),
    (r"[a-", "", "this class is never closed"),
    (r"[a-b-[a]", "", r"\] is missing"),
    (r"[a-[b]c]", "", r"\] is missing"),
    (r"[]", "", r"\[...\] is empty"),
    (r"[^]a]", "", r"\[...\] is empty"),
    (r"[[a]", "", r"write \\\[ for the character"),
    (r"[z-a]", "", "the range z-a ends before it begins"),
    (r"[a-\d]", "", "this hyphen makes no range"),
    (r"[a--]", "", "this hyphen makes no range"),
    (r"[--a]", "", "this hyphen makes no range"),
    (r"\p{Xx}", "", "Unicode has no category Xx"),
    (r"\p{Cs}", "", "Unicode has no category Cs"),
    (r"\p{IsNowhere}", "", "Unicode has no block Nowhere"),
    (r"\pL", "", r"\\p needs a category"),
    (r"\p{L", "", r"\\p needs a category"),
    (r"\1(a)", "", r"no group 1 ends before \\1"),
    (r"(a\1)", "", r"no group 1 ends before \\1"),
    (r"(?:a)\1", "", r"no group 1 ends before \\1"),
    (r"(a)\0", "", "no group 0"),
    ("a\\", "", r"\\ escapes nothing"),
    (r"a", "g", "'g' is not a flag"),
    ("(" * 51 + ")" * 51, "", "more than 50 nested groups"),
    ("[a-" * 51 + "[b" + "]" * 52, "", "more than 50 nested groups"),
]  # fmt: skip

REPLACED = [
    ("abracadabra", "bra", "*", "", "a*cada*"),
    ("abracadabra", "a.*a", "*", "", "*"),
    ("abracadabra", "a.*?a", "*", "", "*c*bra"),
    ("abracadabra", "a(.)", "a$1$1", "", "abbraccaddabbra"),
    ("AAAA", "A+?", "b", "", "bbbb"),
    ("darted", "^(.*?)d(.*)$", "$1c$2", "", "carted"),
    ("ab", "(a)", "$12$2", "", "a2b"),  # a group that there is not is nothing, if its number has one digit
    ("abcdefghijk", "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", "$10$11", "", "ja1k"),
    ("ab", "b", "[$0]", "", "a[b]"),
    ("ab", "b", "$01", "", "ab1"),
    ("ab", "(x)?b", "<$1>", "", "a<>"),
    ("ab", "b", r"\\\$", "", r"a\$"),
    ("a.b", ".", r"$1\n", "q", r"a$1\nb"),
    ("aXbx", "x", "-", "i", "a-b-"),
    ("a\nb", "^.", "-", "m", "-\n-"),
]


@pytest.mark.parametrize(("pattern", "flags", "texts", "others"), MATCHES)
def test_matches_are_those_of_the_recommendation(
    pattern: str, flags: str, texts: list[str], others: list[str]
) -> None:
    """Some texts are matched, and some are not."""
    assert [text for text in texts if not matches(text, pattern, flags)] == []
    assert [text for text in others if matches(text, pattern, flags)] == []


@pytest.mark.parametrize(("pattern", "flags", "reason"), ILLEGAL)
def test_no_regular_expression_of_xpath_is_an_error(pattern: str, flags: str, reason: str) -> None:
    """The error says at which character, and what to write."""
    with pytest.raises(RegexError, match=reason):
        compiled(pattern, flags)


def test_blocks_name_the_extra_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Categories need none."""
    monkeypatch.setitem(sys.modules, "elementpath.regex", None)
    with pytest.raises(
        RegexError, match=r"at character 2, blocks such as IsThai need elementpath: .*unicode"
    ):
        compiled(r"a\p{IsThai}")
    assert matches("a", r"\p{Ll}")


@pytest.mark.parametrize(("text", "pattern", "new", "flags", "expected"), REPLACED)
def test_replacements_are_those_of_the_recommendation(
    text: str, pattern: str, new: str, flags: str, expected: str
) -> None:
    """Every match is replaced, groups by what they matched."""
    assert replaced(text, pattern, new, flags) == expected


@pytest.mark.parametrize("new", ["$", "$a", "\\", r"\n", "a$ 1", "\\$\\", "$\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_lone_dollar_or_backslash_is_an_error(new: str) -> None:
    """XPath's FORX0004; with the flag q both are themselves."""
    with pytest.raises(RegexError, match="in the replacement"):
        replaced("a", "a", new)
    assert replaced("a", "a", new, "q") == new


@pytest.mark.parametrize("pattern", ["b*", "", "^", "$", "a|", "(a?)", "a{0}", "^$"])
def test_a_pattern_that_matches_nothing_cannot_be_replaced(pattern: str) -> None:
    """XPath's FORX0003, also where the text has no such match."""
    with pytest.raises(RegexError, match="matches the empty string"):
        replaced("abc", pattern, "x")


def test_sets_are_those_of_unicode() -> None:
    """Each category has the characters that Python has in it, and general ones have those of theirs."""
    wanted: dict[str, list[int]] = defaultdict(list)
    for code in range(0x110000):
        wanted[unicodedata.category(chr(code))].append(code)
    del wanted["Cs"]  # surrogates are no characters of XML
    for name, codes in wanted.items():
        assert [c for first, last in category(name).ranges for c in range(first, last + 1)] == codes, name
    for name in "LMNPZSC":
        kinds = [category(each) for each in wanted if each[0] == name]
        assert category(name) == CodePoints(ends for kind in kinds for ends in kind.ranges)
    with pytest.raises(KeyError):
        category("X")
    assert block("Greek") == CodePoints([(0x370, 0x3FF)])


def test_variants_of_case_are_those_of_the_definition() -> None:
    """What has the same lower or the same upper case, one character with the other; none is cased above."""
    cased = [c for c in map(chr, range(0x110000)) if c.lower() != c or c.upper() != c]
    assert max(cased) <= "\U0001ffff"
    some = {*"askKßẞıİ\u0345µμ\u017f\u01c5Σςσ\u1e9b\u212a\u2126ω1 ", *drawn_from("cases").sample(cased, 40)}
    for one in some:
        wanted = {c for c in (*cased, one) if c.lower() == one.lower() or c.upper() == one.upper()}
        # among what is not cased there may be the case of something
        wanted |= {c for c in (one.lower(), one.upper()) if len(c) == 1}
        found = CodePoints.of(one).in_any_case()
        assert found == CodePoints.of(wanted), one


MEMBERS: list[tuple[str, Test]] = [
    ("a", lambda c: c == "a"),
    ("b-y", lambda c: "b" <= c <= "y"),
    ("À-ÿ", lambda c: "À" <= c <= "ÿ"),
    (r"\n", lambda c: c == "\n"),
    (r"\]", lambda c: c == "]"),
    (r"\-", lambda c: c == "-"),
    (r"\\", lambda c: c == "\\"),
    (r"\d", lambda c: unicodedata.category(c) == "Nd"),
    (r"\D", lambda c: unicodedata.category(c) != "Nd"),
    (r"\s", lambda c: c in " \t\n\r"),
    (r"\S", lambda c: c not in " \t\n\r"),
    (r"\w", lambda c: unicodedata.category(c)[0] not in "PZC"),
    (r"\W", lambda c: unicodedata.category(c)[0] in "PZC"),
    (r"\p{Lu}", lambda c: unicodedata.category(c) == "Lu"),
    (r"\P{P}", lambda c: unicodedata.category(c)[0] != "P"),
]  # fmt: skip
SOME = [*map(chr, range(0x250)), *"ΑαЖж٣½\u0301\u2028\u3000ǅ𐐀𐐨\U0001f600\U0010ffff"]


def drawn_class(random: Random, depth: int = 0) -> tuple[str, Test]:
    """Draw a class, and a test of its members."""
    chosen = random.sample(MEMBERS, random.randint(1, 3))
    text, negative = "".join(member for member, _ in chosen), random.random() < 0.4
    tests = [test for _, test in chosen]

    def test(c: str) -> bool:
        return any(each(c) for each in tests) != negative

    if depth == 3 or random.random() < 0.4:
        return f"[{'^' * negative}{text}]", test
    inner, without = drawn_class(random, depth + 1)
    return f"[{'^' * negative}{text}-{inner}]", lambda c: test(c) and not without(c)


@pytest.mark.parametrize("case", range(rounds(80)))
def test_classes_have_the_members_that_their_parts_have(case: int) -> None:
    """Over drawn classes with negation and classes taken away, in Python's engine and as sets."""
    random = drawn_from(f"classes {case}")
    for _ in range(10):
        text, test = drawn_class(random)
        wanted = [c for c in SOME if test(c)]
        assert compiled(text).findall("".join(SOME)) == wanted, text
        (part,) = parsed(text).root.parts  # type: ignore[union-attr]  # a sequence
        ranges = part.points.ranges
        assert [c for c in SOME if any(first <= ord(c) <= last for first, last in ranges)] == wanted, text
        assert (part.points | ~part.points) == EVERYTHING
        assert (part.points - part.points).ranges == ()


# What follows is understood alike by all: `\w`, `.` and subtraction are tried above.
ATOMS = [
    "a",
    "b",
    "A",
    "é",
    "1",
    r"\d",
    r"\p{Lu}",
    r"\P{L}",
    "[ab]",
    "[^a1]",
    "[a-c]",
    r"[^\d]",
    r"\.",
    "-",
    "ab",
]
REPEATS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{1,}", "{2}?"]


def drawn_pattern(random: Random, depth: int = 0) -> str:
    parts = []
    for _ in range(random.randint(1, 3)):
        part = random.choice(ATOMS)
        if depth < 2 and random.random() < 0.3:
            other = "|" + drawn_pattern(random, depth + 1) if random.random() < 0.5 else ""
            part = random.choice(["(", "(?:"]) + drawn_pattern(random, depth + 1) + other + ")"
        parts.append(part + random.choice(REPEATS))
    start, end = ("^" * (random.random() < 0.2), "$" * (random.random() < 0.2)) if depth == 0 else ("", "")
    return start + "".join(parts) + end


@pytest.mark.parametrize("case", range(rounds(40)))
def test_answers_are_those_of_oxigraph_and_elementpath(case: int) -> None:
    """Over drawn patterns, flags, texts and replacements."""
    random = drawn_from(f"regular {case}")
    store = ox.Store()
    for _ in range(25):
        pattern = drawn_pattern(random)
        # with the flag i both take categories in any case, which XPath does not
        among = "sm" if "p{" in pattern.lower() else "smi"
        flags = "".join(flag for flag in among if random.random() < 0.2)
        text = "".join(random.choices("aabbAB1é.-\n", k=random.randint(0, 6))).rstrip("\n")
        new = random.choice(["<$1>", "", "x", "[$0]"])
        bound = {
            ox.Variable(n): ox.Literal(v) for n, v in zip("tpfn", (text, pattern, flags, new), strict=True)
        }
        query = "SELECT ?t ?p ?f ?n (REGEX(?t, ?p, ?f) AS ?m) (REPLACE(?t, ?p, ?n, ?f) AS ?r) { }"
        (row,) = store.query(query, substitutions=bound)
        found = matches(text, pattern, flags)
        assert str(found).lower() == row["m"].value, (text, pattern, flags)
        options = sum(getattr(re, flag.upper()) for flag in flags)
        translated = re.compile(elementpath.translate_pattern(pattern, options), options)
        assert found == (translated.search(text) is not None), (text, pattern, flags)
        if not matches("", pattern, flags) and ("$1" not in new or "(" in pattern.replace("(?:", "")):
            assert replaced(text, pattern, new, flags) == row["r"].value, (text, pattern, flags, new)
