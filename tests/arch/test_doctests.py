"""The examples in docstrings run and answer what they say."""

import doctest
import importlib

import pytest

from tests.arch.sources import python_files


def _module(path: str) -> str:
    return path.removeprefix("sidecar/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


WITH_EXAMPLES = [_module(source.path) for source in python_files("ankka", "sidecar", "tests/arch", "samples") if f"{'>' * 3} " in source.text]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of(name: str) -> None:
    module = importlib.import_module(name)
    failed = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed.failed == 0, f"{failed.failed} of {failed.attempted} examples in {name} answer something else (see the captured output)"
    assert failed.attempted > 0, f"{name} has examples that doctest does not find (in a nested function, or not in a docstring)"
