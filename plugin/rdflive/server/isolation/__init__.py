"""Child processes for clients' queries, each with one state of the store and limits."""
