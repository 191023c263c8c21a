"""clipspy: the query as a rule of CLIPS, whose Rete network keeps the partial matches.

Measured before choosing: a template per predicate beats ordered facts three times, because those must
be parsed from text. Facts go through the C bindings that clipspy ships, not through its `Template` and
`Fact` classes: these cost twice as much, and never let go of a retracted fact (`Fact.__del__` calls
`ReleaseFact` with an argument too many), so that every later run sweeps all of them. Each solution is
asserted as a fact under `logical` support, so CLIPS takes it back itself when a delete ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.clock import timed
from bench.engines import Contender, Outcome, digest, variables_of
from bench.stream import Pattern, Update

__all__ = ["clips_contender"]


def clips_contender() -> Contender | str:
    """Give the contender; a text says why it cannot be had."""
    try:
        import clips  # type: ignore[import-untyped]  # clipspy has no types
        from clips._clips import ffi, lib  # type: ignore[import-untyped]
        from clips.values import clips_value  # type: ignore[import-untyped]
    except ImportError as error:
        return f"clipspy cannot be imported: {error}"

    def run(updates: Sequence[Update], query: tuple[Pattern, ...], number: int) -> Outcome:
        environment = clips.Environment()
        predicates = sorted({p for _, _, p, _ in updates})
        for text in _program(query, predicates):
            environment.build(text)
        environment.reset()
        native = environment._env  # clipspy keeps the C handle there
        builders = {p: lib.CreateFactBuilder(native, b"p%d" % p) for p in predicates}
        subject, value = ffi.new("char[]", b"s"), ffi.new("char[]", b"o")
        facts: dict[tuple[int, int, int], Any] = {}

        def feed() -> None:
            put, assert_, retract, fire = lib.FBPutSlot, lib.FBAssert, lib.Retract, lib.Run
            for sign, s, p, o in updates:
                if sign > 0:
                    builder = builders[p]
                    put(builder, subject, clips_value(native, s))
                    put(builder, value, clips_value(native, o))
                    facts[s, p, o] = assert_(builder)
                else:
                    retract(facts.pop((s, p, o)))
                fire(native, -1)

        seconds, _ = timed(feed)
        added = environment.eval("?*count*")
        answers = [tuple(fact["values"]) for fact in environment.find_template("answer").facts()]
        for builder in builders.values():
            lib.FBDispose(builder)
        return Outcome(seconds, added, added - len(answers), digest(answers))

    return run


def _program(query: tuple[Pattern, ...], predicates: Sequence[int]) -> list[str]:
    patterns = " ".join(f"(p{p} (s {s}) (o {o}))" for s, p, o in query)
    names = " ".join(f"?{variable.name}" for variable in variables_of(query))
    return [
        *(f"(deftemplate p{p} (slot s) (slot o))" for p in predicates),
        "(deftemplate answer (multislot values))",
        "(defglobal ?*count* = 0)",
        f"(defrule query (logical {patterns})"
        f" => (bind ?*count* (+ ?*count* 1)) (assert (answer (values {names}))))",
    ]
