"""The plugins of the tests: what is run and for how long, a fixture of several folders, and a table."""

pytest_plugins = ["support.selection", "support.recording", "support.w3c_report", "faults.report"]
