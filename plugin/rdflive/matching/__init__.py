"""Graph pattern matching of events: each event by itself, or in windows that updates fill (SPECTRA)."""
