"""SPARQL over HTTP: reading and checking of requests, and writing of answers."""
