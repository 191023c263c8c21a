"""Serving over HTTP, shared by the server and `SseSink`: addresses, connections and the process."""
