"""Processes for the queries of clients: each sees one state of the store, and has limits."""
