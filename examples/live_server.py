"""Serve a graph to other programs: a client receives the changes, also those of a lost connection."""

import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import rdflive

RAIL = "http://example.org/railway/"
QUERY = "SELECT ?train ?minutes { ?train :delay ?minutes FILTER(?minutes > 5) }"


@contextmanager
def serving(folder, listen):
    """Run the server as a separate program, and yield its address once it is ready."""
    command = [sys.executable, "-m", "rdflive", "serve", "examples/railway.ttl"]
    options = ["--store-path", folder, "--listen", listen]  # the store keeps the graph across a restart
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        address = None
        while address is None:
            address = re.search(r"http://(\S+)/", process.stderr.readline())
        yield address[1]
        process.terminate()


def update(address, text):
    """Change the graph through the SPARQL protocol."""
    print(text)
    form = urlencode({"update": f"PREFIX : <{RAIL}> {text}"}).encode()
    urlopen(f"http://{address}/update", form, timeout=30).close()


def show(delta):
    """Print the trains that became later than five minutes, and those that no longer are."""
    for sign, solutions in (("-", delta.removed), ("+", delta.added)):
        for train, minutes in sorted((s.train, s.minutes) for s in solutions):
            print(f"  {sign} {train.removeprefix(RAIL)} {minutes}", flush=True)


with tempfile.TemporaryDirectory() as folder:
    store = str(Path(folder, "railway.db"))
    with serving(store, "127.0.0.1:0") as address:
        late = rdflive.connect(f"http://{address}").subscribe(QUERY, initNs={"": RAIL})
        deltas = late.deltas(timeout=60)
        print("The client is told the answer:")
        show(next(deltas))
        update(address, "INSERT DATA { :T202 :delay 12 }")
        show(next(deltas))

    print("The server is gone; the client still has an answer:", len(late.answers()), "solutions")
    with serving(store, address):
        # The client reconnects by itself, and receives the difference to its last answer.
        update(
            address, "DELETE { ?t :delay ?m } INSERT { ?t :delay 9 } WHERE { ?t :delay ?m FILTER(?m < 8) }"
        )
        show(next(deltas))
        late.close()
