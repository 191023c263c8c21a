"""A SPARQL reader, checker, writer and translator to algebra, based on immutable trees with positions."""
