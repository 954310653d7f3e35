"""Fixtures of all integration tests: real sidecars and processes, whose output a failed test shows."""

from tests.integration.support.fixtures import programs, pytest_runtest_makereport

__all__ = ["programs", "pytest_runtest_makereport"]
