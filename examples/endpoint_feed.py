"""Follow a SPARQL endpoint: local queries receive the changes of its data."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import rdflib

import rdflive

RAIL = rdflib.Namespace("http://example.org/railway/")
QUERY = f"SELECT ?train ?minutes {{ ?train <{RAIL}delay> ?minutes FILTER(?minutes > 5) }}"

# An endpoint that belongs to another party. All it has to know is SPARQL queries over HTTP.
remote = rdflib.Graph().parse("examples/railway.ttl")
one_at_a_time = threading.Lock()  # no query is answered in the middle of an update


class Endpoint(BaseHTTPRequestHandler):
    """Answers CONSTRUCT queries, which the feed sends for the default graph."""

    def do_GET(self):
        """Answer a query in the URL."""
        self.answer(urlsplit(self.path).query)

    def do_POST(self):
        """Answer a query in the body."""
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def answer(self, form):
        """Run the query and send the triples."""
        with one_at_a_time:
            body = remote.query(parse_qs(form)["query"][0]).serialize(format="nt")
        self.send_response(200)
        self.send_header("Content-Type", "application/n-triples")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Log no requests."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
threading.Thread(target=server.serve_forever, daemon=True).start()

# The mirror needs its own graph: it removes all triples that the endpoint does not have.
graph = rdflib.Graph()
feed = rdflive.endpoint(f"http://127.0.0.1:{server.server_port}/sparql", every=0.2)


def show(delta):
    """Print the trains that became later than five minutes, and those that no longer are."""
    for sign, solutions in (("-", delta.removed), ("+", delta.added)):
        for train, minutes in sorted((s.train, s.minutes) for s in solutions):
            print(f"  {sign} {train.removeprefix(RAIL)} {minutes}", flush=True)


def there(update):
    """Run an update at the endpoint, and show its effect here."""
    print(update)
    with one_at_a_time:
        remote.update(update)
    show(next(deltas))


with rdflive.subscribe(graph, QUERY, initial=False) as late:
    deltas = late.deltas(timeout=30)
    # Polls run in their own thread until the feed is closed. They request the triples that match patterns of
    # the open subscriptions, here all delays, and apply the difference as one commit.
    polls = threading.Thread(target=rdflive.mirror, args=(graph, feed))
    polls.start()
    print("The endpoint is read for the first time:")
    show(next(deltas))
    there("INSERT DATA { :T202 :delay 12 }")
    there("DELETE { ?t :delay ?m } INSERT { ?t :delay 9 } WHERE { ?t :delay ?m FILTER(?m < 8) }")
    feed.close()
    polls.join()

print(f"The endpoint holds {len(remote)} triples, and of these {len(graph)} are here.")
server.shutdown()
server.server_close()
