"""Logs of RDF Patch and signed N-Quads as a data source: cut by bytes, decoded where Spark reads them."""
