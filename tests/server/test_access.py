"""Who may do what on a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.datastructures import Headers

from rdflive.errors import RdfliveError
from rdflive.server.access import COOKIE, Access, digest, read_tokens
from rdflive.server.failures import Problem

ALICE = "a-long-secret-of-alice"
BOB = "a-long-secret-of-bob"


@pytest.fixture
def access(tmp_path: Path) -> Access:
    """A server that knows Alice by her token and Bob by the digest of his."""
    file = tmp_path / "tokens.toml"
    file.write_text(
        f'[alice]\ntoken = "{ALICE}"\nrights = ["read", "update"]\n'
        f'[bob]\nsha256 = "{digest(BOB)}"\nrights = ["subscribe"]\n'
    )
    return Access(read_tokens(file), "0.0.0.0")


def test_a_client_is_known_by_its_token(access: Access) -> None:
    """A header goes before the cookie, and the scheme is written in any case."""
    for header in (f"Bearer {ALICE}", f"bearer  {ALICE}"):
        assert access.client(Headers({"authorization": header}), {COOKIE: BOB}, "::1").name == "alice"
    assert access.client(Headers(), {COOKIE: BOB}, "::1").name == "bob"


STRANGERS: list[tuple[str | None, str | None]] = [
    (None, None),
    (f"Basic {ALICE}", None),
    (f"Bearer{ALICE}", None),
    ("Bearer", ALICE),
    ("Bearer ", None),
    (f"Bearer {ALICE}x", ALICE),
    (None, ALICE[:-1]),
    ("Bearer \udcff", None),
    (f"Bearer {digest(ALICE)}", None),
]


def test_unknown_clients_are_refused(access: Access) -> None:
    """A wrong token is refused, also beside a right cookie; the digest of a token is no token."""
    for header, cookie in STRANGERS:
        raw = [] if header is None else [(b"authorization", header.encode("latin-1", "replace"))]
        with pytest.raises(Problem) as caught:
            access.client(Headers(raw=raw), {} if cookie is None else {COOKIE: cookie}, "::1")
        assert caught.value.status == 401, header
        assert caught.value.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_right_gives_only_itself(access: Access) -> None:
    """What the file does not list is refused with 403; without tokens this machine may do all."""
    alice = access.holder(ALICE, "")
    alice.need("read")
    with pytest.raises(Problem, match="'alice' has no right to subscribe") as caught:
        alice.need("subscribe")
    assert caught.value.status == 403
    client = Access(None, "127.0.0.1").client(Headers(), {}, "127.0.0.1")
    assert (client.name, len(client.rights)) == ("127.0.0.1", 4)


SITES = [
    ("127.0.0.1:8000", None, True),
    ("localhost:8000", None, True),
    ("[::1]:8000", None, True),
    ("localhost:8000", "http://localhost:8000", True),
    ("LOCALHOST:8000", "http://localhost:8000", True),
    ("example.org:8000", None, False),
    ("", None, False),
    ("[x", None, False),
    ("127.0.0.1.example.org", None, False),
    ("localhost:8000", "http://localhost:8001", False),
    ("localhost:8000", "http://example.org", False),
    ("localhost:8000", "null", False),
    ("localhost:8000", "http://[x", False),
    ("localhost:8000", "http://user@localhost:8000", False),
    ("localhost:8000", "https://localhost:8000", False),
    ("localhost:8000", "localhost:8000", False),
]


def status(headers: dict[str, str], **request: str) -> int:
    """Give the status of a refusal, or 200."""
    try:
        Access(None, "127.0.0.1").check_site(Headers(headers), **request)
    except Problem as problem:
        return problem.status
    return 200


def test_other_sites_cannot_ask() -> None:
    """A page of another origin, or a name that was made to point here, is refused."""
    for host, origin, good in SITES:
        headers = {"host": host} | ({} if origin is None else {"origin": origin})
        assert status(headers) == (200 if good else 403), headers


def test_the_first_refusal_of_each_site_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A browser hides the answer from its page; it says what to do. Sites that are made up fill no log."""
    access = Access(None, "127.0.0.1")
    for number in range(2 * 150):  # each site twice
        with pytest.raises(Problem, match=r"docs/server\.md"):
            access.check_site(
                Headers({"host": "localhost:8000", "origin": f"http://localhost:{number // 2}"})
            )
    texts = [record.getMessage() for record in caplog.records]
    assert texts[0].startswith(
        "a page of 'http://localhost:0' may not use this server: allow its origin with --allow-origin"
    )
    assert len(texts) == len(set(texts)) == 100


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("forwarded", [False, True])
def test_scheme_of_a_page_is_that_of_its_requests(scheme: str, forwarded: bool) -> None:
    """A page of the other scheme is another site; a proxy reports the browser's scheme."""
    told = {"x-forwarded-proto": scheme} if forwarded else {}
    for origin in ("http", "https"):
        headers = {"host": "localhost", "origin": f"{origin}://localhost"} | told
        expected = 200 if origin == scheme else 403
        assert status(headers, scheme="http" if forwarded else scheme) == expected


FETCHED = [
    ("same-origin", "cors", "empty", "POST", True),
    ("none", "navigate", "document", "POST", True),
    ("cross-site", "navigate", "document", "GET", True),
    ("same-site", "navigate", "document", "HEAD", True),
    ("cross-site", "navigate", "document", "POST", False),
    ("same-site", "navigate", "document", "POST", False),
    ("cross-site", "no-cors", "image", "GET", False),
    ("same-site", "no-cors", "image", "GET", False),
    ("cross-site", "navigate", "iframe", "GET", False),
    ("same-site", "navigate", "iframe", "GET", False),
]


def test_what_other_sites_show_is_not_asked_for() -> None:
    """Other hosts of the site are others too; a link that is followed shows only what is asked."""
    for site, mode, target, method, good in FETCHED:
        sent = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": target}
        assert status({"host": "localhost", **sent}, method=method) == (200 if good else 403), sent


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing", "No such file"),
        ("", "has no client"),
        ("x", "cannot be read as a token file"),
        ("a = 1", r"\[a\] must be a table"),
        ('[a]\nrights = ["read"]', r"\[a\] must have one of token and sha256"),
        (f'[a]\ntoken = "{ALICE}"\nsha256 = "{digest(BOB)}"\nrights = ["read"]', "must have one of"),
        ('[a]\ntoken = "short"\nrights = ["read"]', "16 or more ASCII characters"),
        (f'[a]\ntoken = "{ALICE} x"\nrights = ["read"]', "without spaces"),
        ('[a]\nsha256 = "abc"\nrights = ["read"]', "64 digits"),
        (f'[a]\ntoken = "{ALICE}"', "rights must list some of 'backup', 'read', 'subscribe', 'update'"),
        (f'[a]\ntoken = "{ALICE}"\nrights = []', "rights must list"),
        (f'[a]\ntoken = "{ALICE}"\nrights = ["write"]', "rights must list"),
        (f'[a]\ntoken = "{ALICE}"\nrights = "read"', "rights must list"),
        (f'[a]\ntoken = "{ALICE}"\nrights = ["read"]\nname = 1', "must be a table of token"),
        (
            f'[a]\ntoken = "{ALICE}"\nrights = ["read"]\n[b]\ntoken = "{ALICE}"\nrights = ["read"]',
            r"\[b\] and \[a\] have the same token",
        ),
    ],
)
def test_a_file_of_tokens_is_checked(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong is said with the file and the table."""
    file = tmp_path / "tokens.toml"
    if text != "missing":
        file.write_text(text)
    with pytest.raises(RdfliveError, match=message) as caught:
        read_tokens(file)
    assert str(file) in str(caught.value)
    assert ALICE not in str(caught.value)
