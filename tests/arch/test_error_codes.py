"""Every error code has its paragraph in docs/errors.md, with the right status, whether a retry is safe, and what to do."""

import re

import pytest

from ankka.protocol.errors import ErrorCode
from tests.arch.sources import ROOT

SECTIONS = dict(re.findall(r"^## `(\w+)` · \d+\n(.*?)(?=^## |\Z)", (ROOT / "docs/errors.md").read_text("utf-8"), re.MULTILINE | re.DOTALL))
STATUSES = dict(re.findall(r"^## `(\w+)` · (\d+)$", (ROOT / "docs/errors.md").read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("code", ErrorCode)
def test_the_code_is_documented(code: ErrorCode) -> None:
    assert code.value in SECTIONS, f"docs/errors.md needs a section: ## `{code.value}` · {code.http_status}"
    assert STATUSES[code.value] == str(code.http_status)
    for part in ("**Again?**", "**What to do:**"):
        assert part in SECTIONS[code.value], f"the section of {code.value} lacks {part}"


def test_no_other_code_is_documented() -> None:
    assert set(SECTIONS) == {code.value for code in ErrorCode}
