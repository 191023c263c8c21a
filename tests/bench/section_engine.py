"""(a) The engine alone, with integers in and out, beside a reference kernel, CLIPS and pathway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.clock import interleave, middle, ratio
from bench.engines import Contender, Outcome, rdflive_contender, reference_contender
from bench.page import Page
from bench.peer_clips import clips_contender
from bench.peer_pathway import COMMITS, pathway_contender
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.stream import Pattern, Stream, Update, reference_stream, social_stream

OURS = ("auto", "join", "connected")
PEERS = ("clipspy", "pathway")

PAGE = Page(
    "a",
    "Engine only, 200,000 updates, 10 % deletes, stream of shared/bench/social_stream.py",
    "The engine alone takes the integer triples of a seeded social stream, in turns with a hand-written "
    "reference kernel, CLIPS and pathway.",
    "Above 1 rdflive is faster; pathway nets the deltas of a commit, and the others answer each update.",
    "query auto reference of_reference over_clipspy over_pathway",
)


def run(sizes: Sizes) -> Section:
    """Run four queries over the stream, every engine in every round."""
    stream = reference_stream(sizes.updates) or social_stream(sizes.updates)
    engines, absent = _engines()
    rates = " | ".join(f"{name}: {name}, updates/s" for name in (*OURS, "reference", *PEERS))
    over = " | ".join(f"over_{peer}: auto / {peer}" for peer in PEERS)
    section = Section(
        "engine",
        f"Engine only, {len(stream.updates):,} updates, 10 % deletes, stream of {stream.source}",
        sizes.updates,
        f"query | deltas | {rates} | of_reference: auto / reference | {over}",
        repeat=sizes.repeat,
        seed=stream.seed,
    )
    for query in stream.queries:
        section.rows.append(_row(stream, query, engines, sizes))
    section.notes += [f"{name}: n/a, {reason}" for name, reason in absent.items()]
    return section


def _engines() -> tuple[dict[str, Contender], dict[str, str]]:
    candidates: dict[str, Contender | str] = cells(
        auto=rdflive_contender(None),
        join=rdflive_contender("join"),
        connected=rdflive_contender("connected"),
        reference=reference_contender(),
        clipspy=clips_contender(),
        pathway=pathway_contender(),
    )
    engines = {name: engine for name, engine in candidates.items() if not isinstance(engine, str)}
    return engines, {name: reason for name, reason in candidates.items() if isinstance(reason, str)}


def _row(stream: Stream, query: str, engines: Mapping[str, Contender], sizes: Sizes) -> dict[str, Cell]:
    updates, patterns = stream.updates, stream.queries[query]
    peers = {name: engine for name, engine in engines.items() if name == "pathway"}
    quick = {name: engine for name, engine in engines.items() if name != "pathway"}

    def runs(chosen: Mapping[str, Contender], rounds: int) -> dict[str, list[Outcome]]:
        calls = {
            name: (lambda number, engine=engine: engine(updates, patterns, number))
            for name, engine in chosen.items()
        }
        return interleave(calls, rounds)

    outcomes = runs({name: _best_of_two(engine) for name, engine in quick.items()}, sizes.repeat)
    outcomes |= runs(peers, min(sizes.repeat, len(COMMITS)))
    _demand_agreement(query, outcomes)
    seconds = {
        name: [max(o.seconds - o.startup, o.seconds / 100) for o in found] for name, found in outcomes.items()
    }
    if "pathway" in seconds:
        seconds["pathway"] = [min(seconds["pathway"])]
    first = outcomes["auto"][0]
    row: dict[str, Cell] = {"query": query, "deltas": first.added + first.removed}
    row |= {name: len(updates) / middle(times) for name, times in seconds.items()}
    if "reference" in seconds:
        row["of_reference"] = ratio(seconds["reference"], seconds["auto"])
    if "clipspy" in seconds:
        row["over_clipspy"] = ratio(seconds["clipspy"], seconds["auto"])
    if "pathway" in seconds:
        row["over_pathway"] = seconds["pathway"][0] / middle(seconds["auto"])
    return row


def _best_of_two(engine: Contender) -> Contender:
    """Take the better of two runs: some are so short that one pause of the machine doubles them."""

    def run(updates: Sequence[Update], query: tuple[Pattern, ...], number: int) -> Outcome:
        return min((engine(updates, query, number) for _ in range(2)), key=lambda o: o.seconds)

    return run


def _demand_agreement(query: str, outcomes: Mapping[str, list[Outcome]]) -> None:
    """Fail unless all engines ended with the same answer, and all but pathway gave the same deltas."""
    answers = {name: {o.answer for o in found} for name, found in outcomes.items()}
    if len(set().union(*answers.values())) != 1:
        raise AssertionError(f"the engines disagree on the answer of {query!r}: {answers}")
    deltas = {(o.added, o.removed) for name, found in outcomes.items() if name != "pathway" for o in found}
    if len(deltas) != 1:
        raise AssertionError(f"the engines disagree on the deltas of {query!r}: {deltas}")
