"""The client for web pages, run by Node against a scripted server."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from support.event_server import EventServer, cut, stay, update, whole, written
from support.shared import ROOT

CLIENT = ROOT / "plugin" / "rdflive" / "page" / "static" / "client.js"
FOLLOW = """
import { subscribe } from %s;
const [server, query, options, last] = JSON.parse(process.argv[1]);
const say = (...parts) => console.log(JSON.stringify(parts));
const onDelta = (delta) => {
  say("delta", delta, followed.answers());
  if (delta.sequence === last) followed.close();
};
const onState = ({ name, why }) => say(name, why);
const followed = subscribe(query, onDelta, { server, onState, ...options });
"""
PATIENCE = 60


def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("needs Node: install it, version 20.19 or later")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, version.strip("v\n").split(".")[:2])) < (20, 19):
        pytest.skip(f"needs Node 20.19 or later to import modules, got {version.strip()}")
    return found


def run(script: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run a module that imports the client."""
    command = [
        node(),
        "--input-type=module",
        "-e",
        script % json.dumps(CLIENT.as_uri()),
        json.dumps(arguments),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


def follow(server: EventServer, last: int, query: str = "SELECT ?s {}", **options: Any) -> list[list[Any]]:
    """Follow a query up to the delta of a commit, or to its end, and give what the callbacks received."""
    done = run(FOLLOW, server.url, query, options, last)
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def letters(bindings: Any) -> str:
    return "".join(sorted(binding["s"]["value"].removeprefix("urn:") for binding in bindings))


def deltas(said: list[list[Any]]) -> list[tuple[int, bool, str, str, str]]:
    """Give sequence, `initial`, added and removed rows, and the whole answer, of each delta."""
    return [
        (
            delta["sequence"],
            delta["initial"],
            letters(delta["added"]),
            letters(delta["removed"]),
            letters(answer),
        )
        for name, delta, answer in (one for one in said if one[0] == "delta")
    ]


def states(said: list[list[Any]]) -> list[str]:
    return [name for name, *_ in said if name != "delta"]


def test_deltas_add_up_to_the_answer(server: EventServer) -> None:
    """Also with duplicates, after a lost connection, and where the server sends the whole answer again."""
    resync = written("resync", reason="the server forgot")
    server.play(
        cut(whole("1-x", *"aab"), update("2-x", added="c", removed="a")),
        cut(update("3-x", added="a")),
        cut(resync, whole("7-y", *"bdd")),
        cut(resync, whole("8-y", *"bdd")),
        stay(update("9-y", removed="d")),
    )
    said = follow(server, 9)
    assert deltas(said) == [
        (1, True, "aab", "", "aab"),
        (2, False, "c", "a", "abc"),
        (3, False, "a", "", "aabc"),
        (7, False, "dd", "aac", "bdd"),
        (9, False, "", "d", "bd"),
    ]
    assert [asked.last for asked in server.asked] == [None, "2-x", "3-x", "7-y", "8-y"]
    assert states(said) == ["connecting", "connected", *["waiting", "connecting", "connected"] * 4]


def test_a_delta_that_does_not_fit_is_not_applied(server: EventServer) -> None:
    """The client requests the whole answer, and delivers the difference from the last answer."""
    server.play(stay(whole("1-x", *"ab"), update("2-x", added="c", removed="bd")), stay(whole("2-x", *"ac")))
    assert deltas(follow(server, 2)) == [(1, True, "ab", "", "ab"), (2, False, "c", "b", "ac")]
    assert [asked.last for asked in server.asked] == [None, None]


def test_options_are_sent(server: EventServer) -> None:
    """The token is in a header and nowhere in the address; a key pairs rows, also those of a whole answer."""

    def row(train: str, minutes: int) -> dict[str, Any]:
        return {"t": {"type": "uri", "value": train}, "m": {"type": "literal", "value": str(minutes)}}

    answer = {"form": "SELECT", "head": {"vars": ["t", "m"]}, "initial": True}
    server.play(
        cut(
            written("initial", "1-x", sequence=1, **answer, added=[row("urn:a", 1), row("urn:b", 2)]),
            written("update", "2-x", sequence=2, changed=[{"old": row("urn:a", 1), "new": row("urn:a", 5)}]),
        ),
        stay(written("initial", "3-y", sequence=3, **answer, added=[row("urn:a", 9), row("urn:c", 2)])),
    )
    said = follow(server, 3, token="secret", entailment="rdfs", key=["t"])
    changed = [delta for name, delta, *_ in said if name == "delta"]
    assert [one["changed"] for one in changed] == [
        [],
        [{"old": row("urn:a", 1), "new": row("urn:a", 5)}],
        [{"old": row("urn:a", 5), "new": row("urn:a", 9)}],
    ]
    assert (changed[2]["added"], changed[2]["removed"]) == ([row("urn:c", 2)], [row("urn:b", 2)])
    asked = server.asked[0]
    assert (asked.method, asked.target) == ("POST", "/subscribe")
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.body == "query=SELECT+%3Fs+%7B%7D&entailment=rdfs&key=t"


def test_ask_has_a_boolean(server: EventServer) -> None:
    """A whole answer that is the same is no delta."""
    answer = {"form": "ASK", "head": {"vars": []}, "initial": True}
    server.play(
        cut(written("initial", "1-x", sequence=1, **answer, boolean=False)),
        cut(written("initial", "2-y", sequence=2, **answer, boolean=False)),
        stay(written("update", "3-y", sequence=3, boolean=True)),
    )
    said = [delta for name, delta, *_ in follow(server, 3, "ASK {}") if name == "delta"]
    assert [(one["sequence"], one["boolean"], one["added"]) for one in said] == [
        (1, False, []),
        (3, True, []),
    ]


CLOSED = """
import { subscribe } from %s;
const [server, last] = JSON.parse(process.argv[1]);
const onState = ({ name }) => {
  console.log(name);
  if (name === last) followed.close();
};
const followed = subscribe("SELECT ?s {}", () => {}, { server, onState });
"""


@pytest.mark.parametrize(
    ("last", "asked"), [("connecting", 0), ("connected", 1), ("waiting", 1)], ids=lambda given: str(given)
)
def test_closing_in_a_state_makes_no_further_request(server: EventServer, last: str, asked: int) -> None:
    """Node ends once nothing is open."""
    server.play(cut(whole("1-x", "a")), stay(whole("1-x", "a")))
    said = run(CLOSED, server.url, last).stdout.split()
    assert said == ["connecting", "connected", "waiting"][: len(said)]
    assert said[-1] == last
    assert len(server.asked) == asked


UNHEARD = """
import { subscribe } from %s;
subscribe("ASK {}", () => {}, { server: JSON.parse(process.argv[1])[0] });
"""


def test_refusals_end_the_subscription(server: EventServer) -> None:
    """The last state has the server's reason, which goes to the console without `onState`."""

    def refuse(wire: Any) -> None:
        wire.head(401, "application/problem+json").raw('{"detail": "the token is unknown to this server"}')

    server.play(refuse)
    assert follow(server, 0)[-1] == ["ended", "the token is unknown to this server"]
    done = run(UNHEARD, server.url)
    assert done.stderr == "rdflive: the subscription has ended: the token is unknown to this server\n"
    server.play(stay(whole("1-x", "a"), written("end", detail="the answer is too large")))
    assert follow(server, 0)[-1] == ["ended", "the answer is too large"]


FAILING = """
import { subscribe } from %s;
process.on("uncaughtException", (error) => console.log(`reported ${error.message}`));
const fail = ({ sequence, name }) => {
  if (sequence === 2) followed.close();
  throw Error(name ?? sequence);
};
const followed = subscribe("SELECT ?s {}", fail, { server: JSON.parse(process.argv[1])[0], onState: fail });
"""


def test_exceptions_of_callbacks_are_reported_and_end_nothing(server: EventServer) -> None:
    """As with other listeners of a page; later deltas come."""
    server.play(stay(whole("1-x", "a"), update("2-x", added="b")))
    assert run(FAILING, server.url).stdout.split("\n")[:-1] == [
        f"reported {one}" for one in ("connecting", "connected", "1", "2")
    ]


CHANGED = """
import { subscribe } from %s;
process.on("uncaughtException", (error) => console.log(JSON.stringify(error.name)));
const change = ({ sequence, added, removed }) => {
  if (sequence === 3) followed.close();
  console.log(JSON.stringify(followed.answers()));
  const [{ s }] = [...added, ...removed];
  (s.value.subject ?? s).value = "changed";
};
const followed = subscribe("SELECT ?s {}", change, { server: JSON.parse(process.argv[1])[0] });
"""


def test_callbacks_cannot_change_rows(server: EventServer) -> None:
    """Later answers contain the rows of a delta; also triple terms, and a row whose duplicate goes."""
    subject = {"type": "uri", "value": "urn:a"}
    triple = {"s": {"type": "triple", "value": {"subject": subject, "predicate": subject, "object": subject}}}
    answer = {"form": "SELECT", "head": {"vars": ["s"]}, "initial": True}
    server.play(
        stay(
            written("initial", "1-x", sequence=1, **answer, added=[triple, triple]),
            written("update", "2-x", sequence=2, removed=[triple]),
            update("3-x", added="b"),
        )
    )
    said = [json.loads(line) for line in run(CHANGED, server.url).stdout.splitlines()]
    assert [one for one in said if one != "TypeError"] == [
        [triple, triple],
        [triple],
        [triple, {"s": {"type": "uri", "value": "urn:b"}}],
    ]
    assert said.count("TypeError") == 3


MISUSED = """
import { subscribe } from %s;
for (const given of JSON.parse(process.argv[1])) {
  const [query, onDelta, ...rest] = given;
  try { subscribe(query, onDelta && (() => {}), ...rest); } catch (error) { console.log(`${error}`); }
}
"""


def test_misuse_is_an_error() -> None:
    """A missing callback or a misspelt option is none that is ignored."""
    assert run(MISUSED, ["ASK {}"], [None, True], ["ASK {}", True, {"tokn": "x"}]).stdout.splitlines() == [
        "TypeError: subscribe(query, onDelta): onDelta must be a function",
        "TypeError: subscribe(query, onDelta): query must be text",
        'TypeError: subscribe has no option "tokn"',
    ]


@pytest.mark.parametrize(
    ("name", "accepted", "values"),
    [
        (
            "server",
            "the http or https address of a server, without a password",
            [None, "", 8000, "127.0.0.1:8000", "localhost:8000", "file:///srv", "http://me:secret@localhost"],
        ),
        ("token", "ASCII characters without spaces", [None, "pä€", "a\nb", "a b", 7]),
        ("entailment", 'text, such as "rdfs"', [None, ["rdfs"]]),
        ("key", 'a list of variables, such as ["train"]', [None, "train", [None]]),
        ("onState", "a function", [None, "log"]),
    ],
)
def test_wrong_options_are_errors(name: str, accepted: str, values: list[Any]) -> None:
    """None of them leads to requests that can never succeed; the value may be secret."""
    server = {"server": "http://localhost:1"}
    said = run(MISUSED, *(["ASK {}", True, {**server, name: value}] for value in values)).stdout
    assert said.splitlines() == [f"TypeError: subscribe: the option {name} must be {accepted}"] * len(values)


def test_without_a_page_the_server_must_be_given() -> None:
    """Node has imported the client from a file, which is no server."""
    assert "the option server must be" in run(MISUSED, ["ASK {}", True]).stdout
