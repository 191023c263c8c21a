"""The pytest plugins of the tests: selection, fixtures and reports."""

pytest_plugins = ["support.selection", "support.recording", "support.w3c_report", "faults.report"]
