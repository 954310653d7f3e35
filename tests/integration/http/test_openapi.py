"""`/openapi.json`: every handler of what is attached, with its types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import pytest
from fastapi.openapi.models import OpenAPI

from tests.integration.support.programs import Program, Programs, Sidecar, wait_for

DESCRIBED = "tests.integration.http.described"
SHARED = "#/components/schemas/"


@pytest.fixture(scope="module")
def described(shared: Programs) -> Sidecar:
    """A sidecar of its own, with the service attached."""
    sidecar = shared.sidecar(journal="memory://")
    shared.process(DESCRIBED, sidecar)
    return sidecar


@pytest.fixture
def document(described: Sidecar) -> dict[str, Any]:
    found: dict[str, Any] = described.http.get("/openapi.json").json()
    return found


def parts_of(part: Any) -> Iterator[dict[str, Any]]:
    """Every object within."""
    if isinstance(part, dict):
        within = cast("dict[str, Any]", part)
        yield within
        part = list(within.values())
    if isinstance(part, list):
        for one in part:  # pyright: ignore[reportUnknownVariableType]  # mypy knows it
            yield from parts_of(one)


def schema_of(document: dict[str, Any], path: str, *keys: str) -> Any:
    """What is at those keys of an operation, with references followed at the top."""
    found = document["paths"][path]
    for key in keys:
        found = found[key]
    schema = found["content"]["application/json"]["schema"]
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].removeprefix(SHARED)]
    return schema


def test_it_is_an_openapi_document_whose_references_lead_somewhere(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    OpenAPI.model_validate(document)
    schemas = document["components"]["schemas"]
    for name in schemas:
        assert re.fullmatch(r"[a-zA-Z0-9._-]+", name)
    references = [part["$ref"] for part in parts_of(document) if isinstance(part.get("$ref"), str)]
    mapped = [one for part in parts_of(document) if "discriminator" in part for one in part["discriminator"]["mapping"].values()]
    assert mapped
    for reference in (*references, *mapped):
        assert reference.startswith(SHARED), reference
        assert reference.removeprefix(SHARED) in schemas, reference
    assert "$defs" not in str(document)
    operations = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(operations) == len(set(operations))
    for path, item in document["paths"].items():
        for operation in item.values():
            named = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"}
            assert named == set(re.findall(r"\{(\w+)\}", path)), path
            assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_every_handler_has_a_path_with_what_it_takes_and_answers(document: dict[str, Any]) -> None:
    paths = document["paths"]
    own = {path: set(item) for path, item in paths.items() if re.match(r"/v1/(drawing|owners|shelf)/", path)}
    assert own == {
        "/v1/drawing/{id}/draw": {"post"},
        "/v1/drawing/{id}/tree": {"post", "get"},
        "/v1/drawing/{id}/first%2Fof%20all": {"post", "get"},
        "/v1/drawing/{id}/ankka:await": {"get"},
        "/v1/owners/{id}/register": {"post"},
        "/v1/owners/{id}/photo": {"post"},
        "/v1/owners/{id}/pet": {"post", "get"},
        "/v1/shelf/{id}/put": {"post"},
        "/v1/shelf/{id}/rename": {"post"},
        "/v1/shelf/{id}/count": {"post", "get"},
    }
    draw = paths["/v1/drawing/{id}/draw"]["post"]
    assert draw["summary"] == "Draw a shape."
    assert set(draw["responses"]) == {"204", "default"}
    assert draw["requestBody"]["required"] is True
    assert set(draw["requestBody"]["content"]) == {"application/json"}
    assert {parameter["name"] for parameter in draw["parameters"]} == {"id", "Idempotency-Key"}
    first = paths["/v1/drawing/{id}/first%2Fof%20all"]["post"]
    assert first["requestBody"]["required"] is False
    assert set(first["responses"]["200"]["content"]) == {"application/json", "text/plain"}
    photo = paths["/v1/owners/{id}/photo"]["post"]
    assert set(photo["requestBody"]["content"]) == {"application/json", "text/plain"}
    assert set(photo["responses"]["200"]["content"]) == {"application/json", "application/octet-stream"}
    assert "requestBody" not in paths["/v1/owners/{id}/pet"]["get"]


def test_the_engines_own_view_is_described(document: dict[str, Any]) -> None:
    view = document["paths"]["/v1/{component}/{id}/ankka:lifecycle"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    names = [one["$ref"].removeprefix(SHARED) for one in view["anyOf"]]
    assert names == ["WorkflowLifecycle", "EntityLifecycle"]
    assert {"status", "pendingStep", "retries", "failure", "run"} <= set(document["components"]["schemas"][names[0]]["properties"])
    assert document["components"]["schemas"]["LifecycleStatus"]["enum"] == ["Completed", "Failed", "NotStarted", "Paused", "Running"]


def test_unions_have_a_discriminator_and_models_their_fields(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    shape = schema_of(document, "/v1/drawing/{id}/draw", "post", "requestBody")
    assert shape["discriminator"]["propertyName"] == "type"
    mapping: dict[str, str] = shape["discriminator"]["mapping"]
    assert set(mapping) == {"Circle", "Square"}
    assert shape["oneOf"] == [{"$ref": reference} for reference in mapping.values()]
    assert schemas[mapping["Circle"].removeprefix(SHARED)]["allOf"] == [
        {"$ref": f"{SHARED}drawing.Circle"},
        {"properties": {"type": {"const": "Circle"}}, "required": ["type"]},
    ]
    assert schemas["drawing.Circle"]["properties"] == {"radius": {"type": "number"}}
    owner = schema_of(document, "/v1/owners/{id}/register", "post", "requestBody")
    assert owner == schema_of(document, "/v1/owners/{id}/register", "post", "responses", "200")
    assert owner["required"] == ["name", "pet"]
    pet = owner["properties"]["pet"]
    assert pet["discriminator"]["propertyName"] == "kind"
    assert {key: schemas[value.removeprefix(SHARED)]["title"] for key, value in pet["discriminator"]["mapping"].items()} == {
        "cat": "Cat",
        "dog": "Dog",
    }
    tree = schema_of(document, "/v1/drawing/{id}/ankka:await", "get", "responses", "200")
    assert tree["properties"]["children"]["items"] == {"$ref": f"{SHARED}drawing.Tree"}


def test_two_types_of_one_name_stay_two(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    put = document["paths"]["/v1/shelf/{id}/put"]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    rename = document["paths"]["/v1/shelf/{id}/rename"]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert put != rename
    assert set(schemas[put.removeprefix(SHARED)]["properties"]) == {"sku", "quantity"}
    assert set(schemas[rename.removeprefix(SHARED)]["properties"]) == {"title"}
    assert "drawing.Item" in schemas  # another component's, by a name of its own


def components_of(sidecar: Sidecar) -> set[str]:
    """The components that the description has paths of."""
    return {path.split("/")[2] for path in sidecar.http.get("/openapi.json").json()["paths"] if re.match(r"/v1/\w+/\{", path)}


def test_it_follows_what_attaches_and_leaves(programs: Programs) -> None:
    sidecar = programs.sidecar(journal="memory://")
    assert components_of(sidecar) == set()
    first = programs.process(DESCRIBED, sidecar, {"WITHOUT_SHELF": "yes"})
    assert components_of(sidecar) == {"drawing", "owners"}
    second: Program = programs.process(DESCRIBED, sidecar)
    assert components_of(sidecar) == {"drawing", "owners", "shelf"}
    second.stop()
    wait_for(lambda: components_of(sidecar) == {"drawing", "owners"}, "the shelf has left")
    first.stop()
    wait_for(lambda: components_of(sidecar) == set(), "all have left")
