"""Streams, windows over them, and what is matched event by event."""
