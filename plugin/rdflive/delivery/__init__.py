"""From the deltas of the engine to the followers of a subscription."""
