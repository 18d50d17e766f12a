"""A few hundred requests by our own OpenAPI description, and by no description: never a 500."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error

from headway.testing.service import Running

EXAMPLES = 15  # for each operation and mode
OPERATIONS = [
    ("post", "/api/v1/jobs"),
    ("get", "/api/v1/jobs"),
    ("get", "/api/v1/jobs/{job_id}"),
    ("delete", "/api/v1/jobs/{job_id}"),
    ("post", "/api/v1/jobs/{job_id}/cancel"),
    ("get", "/api/v1/jobs/{job_id}/logs"),
    ("post", "/api/v1/agents/{job_id}"),
    ("get", "/api/v1/cluster"),
    ("get", "/api/v1/tenants"),
    ("get", "/api/v1/events"),
    ("get", "/api/v1/health"),
    ("get", "/health"),
]
NOT_FOUND = 404  # no description can say which jobs there are
DEEPEST = {("post", "/api/v1/jobs"): 201} | {
    (method, path): NOT_FOUND
    for method, path in OPERATIONS
    if path.startswith("/api/v1/jobs/{job_id}")
}


@pytest.fixture(scope="session")
def description(service: Running) -> dict[str, Any]:
    """Without the token, which is not what is tested here: every request sends the right one."""
    described: dict[str, Any] = service.client.get("/api/v1/openapi.json")
    del described["components"]["securitySchemes"]
    for methods in described["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
    return described


def test_every_operation_is_fuzzed(description: dict[str, Any]) -> None:
    described = {(m, path) for path, methods in description["paths"].items() for m in methods}
    assert described == set(OPERATIONS)


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_request_makes_the_service_stumble(
    service: Running, description: dict[str, Any], method: str, path: str, mode: GenerationMode
) -> None:
    operation = schemathesis.openapi.from_dict(description)[path][method.upper()]
    token = (service.state / "token").read_text()
    statuses: list[int] = []

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case) -> None:
        if len(statuses) % 2:
            _go_deeper(case)
        answer = case.call(base_url=service.url, headers={"Authorization": f"Bearer {token}"})
        statuses.append(answer.status_code)
        case.validate_response(answer, checks=[not_a_server_error])

    try:
        ask()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # there is nothing that could be wrong
    assert 401 not in statuses
    if mode is GenerationMode.POSITIVE:
        assert DEEPEST.get((method, path), 200) in statuses
    assert service.client.get("/api/v1/health")["status"] == "ok"


def _go_deeper(case: schemathesis.Case) -> None:
    """A random folder does not exist, a random job neither: take those that do."""
    if not isinstance(case.body, dict):
        return
    if "workdir" in case.body:
        case.body |= {"workdir": "/tmp", "run": "sleep 600"}
        case.body.pop("script", None)
    if "phase" in case.body and isinstance(case.path_parameters, dict):
        case.path_parameters["job_id"] = case.body["job_id"] = "job"
