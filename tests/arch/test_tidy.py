"""The house style that imports do not show: the rules of `tidy` over every file, and a sample of what each must find."""

import re
from pathlib import PurePath

import pytest

from tests.arch import tidy
from tests.arch.sources import CODE, ROOT, Source, project_files, python_files


def _check(rules: tuple[tidy.Rule, ...], *folders: str) -> None:
    findings = [finding for source in python_files(*folders) for rule in rules for finding in rule(source)]
    assert not findings, "\n" + "\n".join(findings)


def test_the_code_is_tidy() -> None:
    _check(tidy.EVERYWHERE, *CODE)


def test_the_sidecar_hashes_no_keys() -> None:
    _check(tidy.IN_THE_SIDECAR, "sidecar", "ankka/protocol")


def test_the_core_is_pure() -> None:
    _check(tidy.IN_THE_CORE, "sidecar/ankka_sidecar/core")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (tidy.module_has_a_docstring, "x = 1\n"),
        (tidy.module_is_small, "x = 1\n" * 601),
        (tidy.functions_are_short, "def f():\n" + "    x = 1\n" * 70),
        (tidy.functions_are_short, 'async def f():\n    """What."""\n' + "    x = 1\n" * 71),
        (tidy.errors_are_not_swallowed, "try:\n    x\nexcept ValueError:\n    pass\n"),
        (tidy.errors_are_not_swallowed, "try:\n    x\nexcept ValueError:\n    ...\n"),
        (tidy.errors_are_not_swallowed, "with contextlib.suppress(Exception):\n    x\n"),
        (tidy.no_work_is_left_in_comments, "x = 1  # TO" + "DO later\n"),
        (tidy.keys_are_not_hashed, "shard = hash(key) % 256\n"),
        (tidy.core_is_synchronous, "async def f(): ...\n"),
        (tidy.core_touches_nothing, "now = datetime.datetime.now()\n"),
        (tidy.core_touches_nothing, "text = open('x').read()\n"),
    ],
)
def test_a_rule_finds_what_it_is_for(rule: tidy.Rule, text: str) -> None:
    assert len(list(rule(Source("sidecar/ankka_sidecar/core/sample.py", text)))) == 1


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (tidy.functions_are_short, "def f():\n" + "    x = 1\n" * 69),
        (tidy.functions_are_short, 'def f():\n    """What.\n' + "    More.\n" * 70 + '    """\n    x = 1\n'),
        (tidy.errors_are_not_swallowed, "with contextlib.suppress(ProcessLookupError):\n    x\n"),
        (tidy.errors_are_not_swallowed, "try:\n    x\nexcept ValueError:\n    y = 2\n"),
        (tidy.keys_are_not_hashed, "class A:\n    def __hash__(self):\n        return hash(self.a)\n"),
        (tidy.core_touches_nothing, "x = machine.reopen(); y = timedelta(seconds=1)\n"),
    ],
)
def test_a_rule_lets_pass_what_is_right(rule: tidy.Rule, text: str) -> None:
    assert list(rule(Source("sidecar/ankka_sidecar/core/sample.py", text))) == []


@pytest.mark.parametrize("path", ["ankka/util.py", "sidecar/ankka_sidecar/runtime/helpers.py", "tests/common/journal.py", "ankka/base.py"])
def test_a_vague_name_is_found(path: str) -> None:
    assert len(list(tidy.module_name_says_something(Source(path, '"""What."""\n')))) == 1


def test_the_one_name_the_api_asks_for_is_allowed() -> None:
    assert list(tidy.module_name_says_something(Source("ankka/effects/common.py", '"""What."""\n'))) == []


# With a letter in brackets, so that this file does not hold what it looks for.
NEVER = {
    "the host of a package registry (name packages; every machine has its own index)": r"py[p]i\.org|pytho[n]hosted\.org|np[m]js\.(com|org)",
    "a path of one developer's machine (use tmp_path, or a path from the top of the project)": r"(?<![\w.])/(hom[e]|User[s]|roo[t]|wor[k])/[\w.-]+",
    "a folder beside the project, which a clone does not have": r"\.\./share[d]\b",
}
BINARY = {".png", ".ico", ".woff2", ".db", ".gz", ".whl"}


def test_no_file_names_a_registry_host_or_a_developers_machine() -> None:
    findings: list[str] = []
    for name in project_files():
        if PurePath(name).suffix in BINARY:
            continue
        text = (ROOT / name).read_text("utf-8")
        for what, pattern in NEVER.items():
            findings += [f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]}: {what}" for hit in re.finditer(pattern, text)]
    assert not findings, "\n" + "\n".join(findings)
