"""Streams and windows over them."""
