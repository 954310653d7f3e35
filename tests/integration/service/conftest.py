"""Service programs of one folder, which end with their test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.service.folder_programs import FolderPrograms
from tests.integration.support.fixtures import kept


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[FolderPrograms]:
    """Starts programs in the test's folder."""
    yield from kept(FolderPrograms(tmp_path))
