"""The exception tree as problem JSON (RFC 9457); every message is one line that names the field."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from headway.core.errors import InvalidInputError, UnavailableError
from headway.service.api.contract import BatchRequest
from headway.service.api.schemas import GpusRequest, JobRequest, Requested

_MODELS: Mapping[str, type[BaseModel]] = {
    "": JobRequest,
    "gpus": GpusRequest,
    "batch": BatchRequest,
    "requested": Requested,
}


class Problem(BaseModel):
    """What every error looks like."""

    status: int = Field(description="the HTTP status")
    title: str = Field(description="what kind of error", examples=["Unprocessable Content"])
    detail: str = Field(
        description="one line that names the field and the fix",
        examples=["gpus: min 4 is above max 2; raise max or lower min"],
    )


RESPONSES: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "the bearer token is missing or wrong"},
    422: {"model": Problem, "description": "what was sent is wrong"},
    503: {"model": Problem, "description": "the service is stopping, or cannot keep events"},
}
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "there is no such job"}
}


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error as an answer."""
    body = Problem(status=status, title=HTTPStatus(status).phrase, detail=" ".join(detail.split()))
    return JSONResponse(
        body.model_dump(), status, headers=headers, media_type="application/problem+json"
    )


def install(app: FastAPI) -> None:
    """Give every kind of error its answer."""

    @app.exception_handler(InvalidInputError)
    def _(_: Request, error: InvalidInputError) -> JSONResponse:
        return problem(422, str(error))

    @app.exception_handler(UnavailableError)
    def _(_: Request, error: UnavailableError) -> JSONResponse:
        return problem(503, str(error))

    @app.exception_handler(TimeoutError)
    def _(_: Request, __: TimeoutError) -> JSONResponse:
        return problem(503, "the scheduler is still deciding; see `headway jobs` before you repeat")

    @app.exception_handler(HTTPException)
    def _(_: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RequestValidationError)
    def _(_: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, one_line(error.errors()))


def one_line(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first error, and how many more there are."""
    first = _told(errors[0])
    return first if len(errors) == 1 else f"{first} (and {len(errors) - 1} more)"


def _told(error: Mapping[str, Any]) -> str:
    place = [str(part) for part in error["loc"] if part not in ("body", "query", "path")]
    place = [part for part in place if not _is_branch(part)]
    field = ".".join(place) or "body"
    match error["type"]:
        case "extra_forbidden":
            return f"{field}: unknown field; {_close(place)}"
        case "missing":
            return f"{field}: is missing"
        case "string_pattern_mismatch":
            return f"{field}: must match {error['ctx']['pattern']}"
        case "value_error" if not place:
            return str(error["msg"]).removeprefix("Value error, ")
        case "json_invalid":
            return f"body: is not JSON: {error['ctx']['error']}"
        case _:
            message = str(error["msg"]).removeprefix("Value error, ")
            given = "" if error["type"] == "value_error" else f", not {_short(error)}"
            return f"{field}: {message[:1].lower()}{message[1:]}{given}"


def _is_branch(part: str) -> bool:
    """One of several types that a field may have; pydantic names it as if it were a field."""
    return "[" in part or part in {"str", "int", "constrained-str"}


def _short(error: Mapping[str, Any]) -> str:
    return repr(error.get("input"))[:80]


def _close(place: Sequence[str]) -> str:
    model = _MODELS.get(".".join(place[:-1]))
    known = list(model.model_fields) if model else []
    close = get_close_matches(place[-1], known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
