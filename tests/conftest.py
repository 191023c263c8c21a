"""The plugins of the tests: what is run and for how long, and tables of what was."""

pytest_plugins = ["support.selection", "support.w3c_report", "faults.report"]
