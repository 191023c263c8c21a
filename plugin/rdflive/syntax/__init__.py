"""SPARQL texts as immutable trees with places: read, checked, printed and translated to algebra."""
