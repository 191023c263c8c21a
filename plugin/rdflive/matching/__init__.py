"""Matches graph patterns on events: each event by itself, or in windows that updates fill (SPECTRA)."""
