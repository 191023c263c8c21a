"""Events that any number of clients follow: the log of them, whose turn it is, and how they are sent."""
