"""Benchmarks: `python tests/bench` prints tables and writes JSON (see docs/benchmarks.md)."""
