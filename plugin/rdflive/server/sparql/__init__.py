"""SPARQL over HTTP: what a request asks, what is refused, and how answers are written."""
