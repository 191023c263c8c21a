"""Graph pattern matching of events: each by itself, or in windows that updates fill (paper 004)."""
