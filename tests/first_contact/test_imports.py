"""`import rdflive` is quick: each public name is imported at its first use."""

from __future__ import annotations

import ast
import importlib
import pickle
import pydoc
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

import rdflive


def in_fresh_process(program: str) -> str:
    """Run a program in a process of its own, and return what it prints."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_the_import_loads_no_other_module_of_rdflive() -> None:
    """Nor rdflib, nor a large module of Python."""
    loaded = in_fresh_process("""
import sys
before = set(sys.modules)
import rdflive
print(*set(sys.modules) - before)
""").split()
    assert [name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names] == ["rdflive"]
    large = {
        "asyncio",
        "concurrent.futures",
        "dataclasses",
        "email",
        "http",
        "inspect",
        "logging",
        "sqlite3",
        "ssl",
    }
    assert not large.intersection(loaded)


def test_a_plain_subscription_loads_only_what_it_needs() -> None:
    """Feeds, shapes, events, mirrors, clients and event loops are for the programs that use them."""
    loaded = in_fresh_process("""
import sys, rdflib, rdflive
with rdflive.subscribe(rdflib.Graph(), "SELECT * { ?s ?p ?o }", lambda delta: None):
    print(*sys.modules)
""").split()
    for name in (
        "asyncio", "multiprocessing", "urllib3", "gzip", "rdflib.plugins.stores.sparqlstore", "pyoxigraph",
        "rdflive.api.matching", "rdflive.api.mirror", "rdflive.api.validation", "rdflive.asgi", "rdflive.cli",
        "rdflive.client", "rdflive.feeds", "rdflive.http", "rdflive.matching", "rdflive.server",
        "rdflive.shacl", "rdflive.sinks", "rdflive.time.languages",
    ):  # fmt: skip
        assert name not in loaded, name


def test_each_name_is_imported_from_the_module_that_type_checkers_see() -> None:
    """The table of modules agrees with the imports for type checkers, and with `__all__`."""
    tree = ast.parse(Path(rdflive.__file__).read_text(encoding="utf-8"))
    seen = {
        name.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("rdflive")
        for name in node.names
    }
    assert seen == rdflive._HOMES
    assert sorted([*seen, "__version__"]) == sorted(rdflive.__all__)


@pytest.mark.parametrize("name", rdflive.__all__)
def test_each_name_is_found(name: str) -> None:
    """The second use finds it without an import."""
    found = getattr(rdflive, name)
    assert vars(rdflive)[name] is found
    if name != "__version__":
        assert found is getattr(importlib.import_module(rdflive._HOMES[name]), name)


def test_all_names_are_imported_by_a_star() -> None:
    """As in a notebook."""
    names: dict[str, object] = {}
    exec("from rdflive import *", names)
    assert set(rdflive.__all__) <= set(names)


def test_help_lists_the_names() -> None:
    """`help(rdflive)` shows the functions with their arguments, not only what a program has used."""
    shown = pydoc.render_doc(rdflive, renderer=pydoc.plaintext)
    assert re.search(r"\n    subscribe\(\s*graph: ", shown)
    assert "class Stream(" in shown


def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    """Python looks for the nearest name in `dir`; special and private names are no modules."""
    command = [sys.executable, "-c", "import rdflive; rdflive.subscrib"]
    wrong = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr
    assert "module 'rdflive' has no attribute 'subscrib'. Did you mean: 'subscribe'?" in wrong
    for name in ("_repr_html_", "__main__", "nothing"):
        assert not hasattr(rdflive, name)
    with pytest.raises(ImportError, match="cannot import name 'subscrib' from 'rdflive'"):
        exec("from rdflive import subscrib")


def test_packages_are_found_without_an_import_of_them() -> None:
    """mypy accepts `rdflive.feeds.debezium` after `import rdflive`; so does Python."""
    printed = in_fresh_process(
        "import rdflive; print(rdflive.feeds.debezium.__name__, rdflive.client.Server.__name__)"
    )
    assert printed == "debezium Server"


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("from rdflive.feeds import feed_format; print(feed_format('nquads').name)", "nquads"),
        ("from rdflive.entail.rules import rule_sets; print(*sorted(rule_sets()))", "owl-rl rdfs rdfs-plus"),
    ],
)
def test_layers_below_the_plugins_find_what_plugins_offer(program: str, printed: str) -> None:
    """Also if a program has imported nothing else of rdflive."""
    assert in_fresh_process(program) == printed


def test_threads_may_use_names_for_the_first_time_at_once() -> None:
    """They are not the first to import rdflib either, whose modules import each other in circles."""
    printed = in_fresh_process("""
import sys, threading, rdflive
sys.setswitchinterval(1e-5)
first = ["subscribe", "connect", "validate", "Stream", "register_function", "Delta", "explain", "Options"]
names, found, start = [*first, *rdflive.__all__], [], threading.Barrier(8)
def use(part):
    start.wait()
    found.extend((name, getattr(rdflive, name)) for name in names[part::8])
threads = [threading.Thread(target=use, args=[part]) for part in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(len(found) == len(names), all(getattr(rdflive, name) is value for name, value in found))
""")
    assert printed == "True True"


def test_one_thread_at_a_time_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python gives threads that import in circles unfinished modules, but only rarely."""
    running, most = 0, 0

    def slow(name: str) -> ModuleType:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.01)
        running -= 1
        return importlib.import_module(name)

    names = ["Options", "Sliding", "Budget", "feeds"]
    for name in names:
        getattr(rdflive, name)
        monkeypatch.delattr(rdflive, name)
    monkeypatch.setattr(rdflive, "import_module", slow)
    with ThreadPoolExecutor(len(names)) as pool:
        assert None not in pool.map(partial(getattr, rdflive), names)
    assert most == 1


@pytest.mark.parametrize("name", ["a.b", "feeds.nope", ".feeds"])
def test_a_dotted_name_is_no_attribute(name: str) -> None:
    """As with any module."""
    assert getattr(rdflive, name, None) is None


def test_a_name_is_pickled_by_its_module() -> None:
    """The process that reads it imports that module."""
    written = pickle.dumps(rdflive.Sliding("10s")).hex()
    program = f"import pickle; print(pickle.loads(bytes.fromhex({written!r})))"
    assert in_fresh_process(program) == str(rdflive.Sliding("10s"))


def test_names_can_be_replaced_in_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users do in their own tests."""
    original = rdflive.subscribe
    with monkeypatch.context() as patch:
        patch.setattr("rdflive.subscribe", print)
        assert rdflive.subscribe is print
    assert rdflive.subscribe is original
    assert (
        in_fresh_process("""
from unittest.mock import patch
import rdflive
with patch("rdflive.subscribe") as fake:
    assert rdflive.subscribe is fake
print(rdflive.subscribe.__module__)
""")
        == "rdflive.api.live"
    )


def test_install_is_enough_to_subscribe() -> None:
    """The methods work although the program has used no other name of rdflive."""
    printed = in_fresh_process("""
import rdflib, rdflive
rdflive.install()
print(rdflib.Graph().subscribe("ASK { ?s ?p ?o }").answers())
""")
    assert printed == "false"
