"""Helpers of the tests; on the path as `support`."""
