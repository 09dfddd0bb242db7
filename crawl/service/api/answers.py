"""What the answers of the interface look like, as JSON Schema: what clients may count on. More may
be there."""

from __future__ import annotations

from typing import Any, Final

from crawl.service.values import Timings

Schema = dict[str, Any]

ID_EXAMPLES: Final = {
    "job": "01m7t0xkfcbdf3szcjfnhywe3c",
    "crawl": "01m7t0z07t356vpk7tzwt4m4bp",
    "webhook": "wh_0123456789abcdef01234567",
}

_TEXT: Final = {"type": "string"}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
_COUNT: Final = {"type": "integer", "minimum": 0}
_MOMENT: Final = {"type": "integer", "description": "Milliseconds since 1970."}
_MILLISECONDS: Final = {"type": "number"}
_TEXTS: Final = {"type": "array", "items": _TEXT}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _object(required: Schema, **others: Schema) -> Schema:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **others},
    }


_HOP = _object({"url": _TEXT, "status": _TEXT, "code": {"type": "integer"}, "at_ms": _MOMENT})
_STATES = {"type": "string", "enum": ["queued", "joined", "answered", "refused", "finished"]}

ANSWERS: Final[Schema] = {
    "Hop": _HOP,
    "Page": _object(
        {
            "url": {**_TEXT, "description": "As it was asked for."},
            "final_url": _TEXT,
            "status": _TEXT,
            "code": {"type": "integer", "description": "Of HTTP; 0: nobody answered."},
            "fetched_ms": _MOMENT,
            "chain": _list(_ref("Hop")),
        },
        reason={**_TEXT, "description": "Why it is no page."},
        redirect=_TEXT,
        content_type=_TEXT,
        bytes=_COUNT,
        title=_TEXT,
        description=_TEXT,
        language=_TEXT,
        markdown=_TEXT,
        timings_ms=_object({}, **dict.fromkeys(Timings.__struct_fields__, _MILLISECONDS)),
    ),
    "Pages": _object({"pages": _list({"anyOf": [_ref("Page"), {"type": "null"}]})}),
    "Job": _object(
        {
            "id": _TEXT,
            "url": _TEXT,
            "state": _STATES,
            "final_url": _TEXT,
            "chain": _list(_ref("Hop")),
            "submitted_ms": _MOMENT,
            "tags": _TEXTS,
        },
        finished_ms=_MOMENT,
        not_before_ms=_MOMENT,
        waits_for={**_TEXT, "description": "batch_fetch: that asks its host at the moment."},
        retry_after_s={"type": "number"},
        reason=_TEXT,
        message=_TEXT,
        page=_ref("Page"),
    ),
    "Submitted": _object(
        {
            "jobs": _list(
                _object(
                    {"id": _MAYBE_TEXT, "url": _TEXT, "state": _STATES},
                    reason=_TEXT,
                    message=_TEXT,
                    retry_after_s={"type": "number"},
                    page=_ref("Page"),
                )
            )
        }
    ),
    "Awaited": _object(
        {
            "job": _object(
                {"id": _TEXT, "url": _TEXT, "state": _STATES},
                waits_for=_TEXT,
                retry_after_s={"type": "number"},
            ),
            "see": _TEXT,
        }
    ),
    "Hits": _object(
        {"hits": _list(_object({"url": _TEXT}, title=_MAYBE_TEXT, score={"type": "number"}))}
    ),
    "Crawl": _object(
        {
            "id": _TEXT,
            "state": _TEXT,
            "started_ms": _MOMENT,
            "seeds": _TEXTS,
            "asked": _COUNT,
            "pages": _COUNT,
            "failed": _COUNT,
            "left_out": {"type": "object", "additionalProperties": _COUNT},
        },
        ended_ms=_MOMENT,
    ),
    "Crawls": _object({"crawls": _list(_ref("Crawl"))}),
    "Webhook": _object(
        {
            "id": _TEXT,
            "url": _TEXT,
            "events": _TEXTS,
            "owner": _TEXT,
            "created_ms": _MOMENT,
            "filter": {"type": "object"},
            "is_of_all": {"type": "boolean"},
            "pause_reason": _TEXT,
        }
    ),
    "NewWebhook": {"allOf": [_ref("Webhook"), _object({"secret": _TEXT})]},
    "Webhooks": _object({"webhooks": _list(_ref("Webhook"))}),
}
