"""Fixtures of the chaos tests: real programs that end with their test, and whose output a failed one shows."""

from tests.integration.support.fixtures import programs, pytest_runtest_makereport

__all__ = ["programs", "pytest_runtest_makereport"]
