"""Processes of their own for what clients ask: each sees one state of the store, and has limits."""
