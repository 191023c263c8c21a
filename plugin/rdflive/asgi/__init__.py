"""What serves over HTTP, for the server and the sink of events: addresses, connections, and the process."""
