"""SPARQL as text: its tokens, and rdflib's parser."""
