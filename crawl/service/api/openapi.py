"""The description of the interface in OpenAPI 3.1, written from its endpoints."""

from __future__ import annotations

from typing import Any

import msgspec

from crawl.service.api.answers import ANSWERS, ID_EXAMPLES
from crawl.service.api.endpoints import Endpoint, Parameter

_TEXT = {"type": "string"}
_REFUSALS = {
    400: "The request cannot be meant; `message` names the place.",
    401: "A key is needed, or it is none.",
    403: "The key, or the sender, may not do this.",
    404: "There is no such thing.",
    406: "None of the types in Accept can be had.",
    431: "The head of the request is too large.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    408: "The body did not arrive in time.",
    422: "What is asked for is not done; `code` is the reason.",
    429: "Too much: come back after Retry-After.",
    500: "A fault of the service.",
    501: "The service lacks a part.",
    503: "A store cannot be reached, or the service ends: come back after Retry-After.",
}
_ALWAYS = (400, 401, 403, 408, 429, 431, 503)
_WITH_BODY = (413, 415)
_RETRY_AFTER = {
    "Retry-After": {"description": "Seconds.", "required": True, "schema": {"type": "integer"}}
}


def openapi(all_endpoints: tuple[Endpoint, ...], version: str) -> dict[str, Any]:
    """The description of the interface (OpenAPI 3.1)."""
    types = [each.body for each in all_endpoints if each.body is not None]
    _, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    components |= ANSWERS
    submission = components["Submission"]
    submission["oneOf"] = [{"required": [name]} for name in ("url", "urls", "text")]
    paths: dict[str, dict[str, Any]] = {}
    for each in all_endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": _TEXT, "message": _TEXT, "details": {}},
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Nutria",
            "version": version,
            "summary": "URLs in, their pages known within seconds.",
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": error},
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key."}
            },
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {
        str(status): _success(endpoint, status, about) for status, about in endpoint.answers.items()
    }
    always = (400, 431) if endpoint.scope is None else _ALWAYS
    of_body = () if endpoint.body is None else _WITH_BODY
    for status in sorted({*always, *of_body, *endpoint.refusals}):
        schema = {"schema": {"$ref": "#/components/schemas/Error"}}
        responses[str(status)] = {
            "description": _REFUSALS[status],
            "content": {"application/json": schema},
        }
        if status in (429, 503):
            responses[str(status)]["headers"] = _RETRY_AFTER
    operation: dict[str, Any] = {
        "operationId": operation_id(endpoint),
        "summary": endpoint.summary,
        "responses": responses,
        "parameters": [*_path_parameters(endpoint.path), *map(_parameter, endpoint.parameters)],
    }
    if endpoint.scope is not None:
        operation["security"] = [{}, {"key": []}]
    if endpoint.body is not None:
        (schema,), _ = msgspec.json.schema_components(
            [endpoint.body], ref_template="#/components/schemas/{name}"
        )
        content: dict[str, Any] = {"schema": schema}
        if endpoint.example is not None:
            content["example"] = endpoint.example
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _success(endpoint: Endpoint, status: int, about: str) -> dict[str, Any]:
    if status == 204:
        return {"description": about}
    name = endpoint.schemas.get(status)
    schema = {} if name is None else {"schema": {"$ref": f"#/components/schemas/{name}"}}
    response: dict[str, Any] = {
        "description": about,
        "content": dict.fromkeys(endpoint.media_types, schema),
    }
    if status in (201, 202) and endpoint.links:
        response["links"] = {
            operation: {"operationId": operation, "parameters": dict(parameters)}
            for operation, parameters in endpoint.links.items()
        }
    return response


def operation_id(endpoint: Endpoint) -> str:
    """The name that clients are generated with."""
    handlers, _, name = endpoint.handle.__qualname__.rpartition(".")
    return f"{handlers.lower()}_{name}"


def _path_parameters(path: str) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [
        {
            "name": name,
            "in": "path",
            "description": f"The id of the {name}.",
            "required": True,
            "schema": _TEXT,
            "example": ID_EXAMPLES[name],
        }
        for name in names
    ]


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.about,
        "required": parameter.is_required,
        "schema": dict(parameter.schema),
        **({} if parameter.example is None else {"example": parameter.example}),
    }
