"""The public functions: subscriptions, live graphs, streams, mirrors, saturation, matches."""
