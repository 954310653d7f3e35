"""The console: files that a page may load, and headers under which what users wrote can do nothing."""

from __future__ import annotations

import re

import httpx
import pytest

from tests.integration.http.conftest import is_problem


@pytest.mark.parametrize("path", ["/", "/console"])
def test_the_root_leads_to_the_console(http: httpx.Client, path: str) -> None:
    answer = http.get(path, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "/console/")


def test_the_console_is_a_page_with_its_own_script_only(http: httpx.Client) -> None:
    page = http.get("/console/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert re.findall(r'<script src="([^"]+)"', page.text) == ["page.js"]
    script = http.get("/console/page.js")
    assert (script.status_code, script.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script.text)


def test_another_file_and_another_method_are_problems(http: httpx.Client) -> None:
    is_problem(http.get("/console/serving.py"), 404, "NOT_FOUND", "the console is at /console/")
    is_problem(http.post("/console/"), 405, "BAD_REQUEST", "GET")
    is_problem(http.get("/console/", headers={"origin": "https://elsewhere.example"}), 403, "FORBIDDEN", "elsewhere.example")
