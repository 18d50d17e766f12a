"""The REST API: one file a noun, and here the one table of all routes."""

import secrets
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request

from headway.service.api import agents, cluster, errors, events, jobs, tenants
from headway.service.api.desk import Desk

__all__ = ["Desk", "create_app"]
PREFIX = "/api/v1"


def create_app(desk: Desk) -> FastAPI:
    """The application; every route but ``/health`` wants the bearer token."""
    app = FastAPI(
        title="Headway",
        version=version("headway"),
        summary="Submit training jobs, see what runs where and why.",
        openapi_url=None,  # it needs the token too, so it is a route below
        docs_url=None,
        redoc_url=None,
    )
    app.state.desk = desk
    errors.install(app)
    for path in ("/health", f"{PREFIX}/health"):
        app.add_api_route(path, cluster.health, tags=["cluster"], summary="Is it there")
    api = APIRouter(prefix=PREFIX, dependencies=[Depends(_authorised)], responses=errors.RESPONSES)
    for noun in (jobs, agents, cluster, tenants, events):
        api.include_router(noun.router)

    @api.get("/openapi.json", include_in_schema=False)
    def openapi() -> dict[str, Any]:
        return described(app)

    app.include_router(api)
    return app


def described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with the token in it."""
    schema = app.openapi()
    schemes = schema.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["token"] = {"type": "http", "scheme": "bearer"}
    for path, methods in schema["paths"].items():
        if not path.endswith("/health"):
            for operation in methods.values():
                operation["security"] = [{"token": []}]
    return schema


def _authorised(request: Request) -> None:
    desk: Desk = request.app.state.desk
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    good = secrets.compare_digest(token.strip().encode(), desk.token.encode())
    if kind.lower() != "bearer" or not good:
        raise HTTPException(
            401,
            f"send the token in {desk.settings.token_file} as a bearer token",
            {"WWW-Authenticate": "Bearer"},
        )
