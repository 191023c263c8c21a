"""The calls that users make: subscriptions, live graphs, streams, mirrors, saturation, matches."""
