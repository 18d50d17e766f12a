"""Agents report here, and are told what to make true."""

from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from headway.core.errors import InvalidInputError
from headway.protocol.messages import AgentReport, Directive, decode_report, encode
from headway.service.api.desk import Here

router = APIRouter(prefix="/agents", tags=["agents"])


def _schema(kind: type) -> dict[str, Any]:
    """Of a message, with its parts inside it: its own names must not meet those of the API."""
    (top,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    resolved: dict[str, Any] = _resolved(top, parts)
    return resolved


def _resolved(node: Any, parts: dict[str, Any]) -> Any:  # a JSON schema
    if isinstance(node, dict):
        if "$ref" in node:
            return _resolved(parts[node["$ref"]], parts)
        return {key: _resolved(value, parts) for key, value in node.items()}
    return [_resolved(part, parts) for part in node] if isinstance(node, list) else node


@router.post(
    "/{job_id}",
    summary="Report, and be told what to do",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": _schema(Directive)}}}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _schema(AgentReport)}},
        }
    },
)
async def report(job_id: str, request: Request, here: Here) -> Response:
    """News in the report (batch changes, epochs) is kept when this answers.

    A report may be sent again whenever the answer was not heard: the same news counts once.
    """
    message = decode_report(await request.body())
    if message.job_id != job_id:
        raise InvalidInputError(f"job_id: the body says {message.job_id!r}, the path {job_id!r}")
    directive = await run_in_threadpool(here.runner.hear, message)
    return Response(encode(directive), media_type="application/json")
