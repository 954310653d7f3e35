"""The version in the code is that of the distribution."""

from importlib.metadata import version

import ankka


def test_the_version_is_that_of_the_distribution() -> None:
    assert ankka.__version__ == version("ankka-engine")
