"""From the deltas of the engine to whoever follows a subscription."""
