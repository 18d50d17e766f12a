"""What the client makes of a refusal, and whom it tells its token."""

import json
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError

import pytest

from headway.core.errors import HeadwayError, InvalidInputError, UnavailableError
from headway.service.client import Client, _refused
from headway.service.paths import ADDRESS, TOKEN


@pytest.mark.parametrize(
    ("code", "body", "kind", "said"),
    [
        (422, b'{"detail": "gpus: ask for less"}', InvalidInputError, "gpus: ask for less"),
        (
            401,
            b'{"detail": "send the token in /state/token"}',
            UnavailableError,
            "send the token in /state/token; name that file, or a copy, with --token-file",
        ),
        (401, b"<html>", UnavailableError, "http://x/ answers 401; is it a Headway service?"),
        (500, b'{"detail": "see the log"}', UnavailableError, "see the log"),
    ],
)
def test_a_refusal_is_a_line_that_says_what_to_do(
    code: int, body: bytes, kind: type[HeadwayError], said: str
) -> None:
    """Of a server that is none of ours no file had been named, yet "that file" was to be given."""
    found = _refused(HTTPError("http://x/", code, "refused", Message(), BytesIO(body)))
    assert type(found) is kind
    assert str(found) == said


class Telling(BaseHTTPRequestHandler):
    """Answers with the token that it was told; /there sends elsewhere."""

    elsewhere = ""

    def do_GET(self) -> None:
        told = json.dumps(self.headers.get("Authorization")).encode()
        self.send_response(302 if self.path == "/there" else 200)
        if self.path == "/there":
            self.send_header("Location", self.elsewhere)
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def telling() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Telling)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of a service on this machine, which is known by its name, too."""
    monkeypatch.setenv("HEADWAY_STATE", str(tmp_path))
    for name in ("HEADWAY_URL", "HEADWAY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / TOKEN).write_text("secret\n")
    (tmp_path / ADDRESS).write_text(json.dumps({"url": "http://gpu-box:8642"}))
    return tmp_path


@pytest.mark.parametrize(
    ("url", "state", "told"),
    [
        (None, False, True),
        ("http://127.0.0.1:1", False, True),
        ("http://gpu-box:8642/", False, True),
        ("HTTP://GPU-Box:8642", False, True),
        ("http://LOCALHOST:1", False, True),
        ("http://[::1]:1", False, True),
        ("https://gpu-box:8642", False, False),
        ("http://gpu-box", False, False),
        ("http://localhost.example.org", False, False),
        ("http://gpu-box:8643", False, False),
        ("http://example.org", False, False),
        ("http://example.org", True, True),  # who names both means it
    ],
)
def test_a_token_is_for_the_service_that_wrote_it(
    here: Path, url: str | None, state: bool, told: bool
) -> None:
    """With --url alone the token of the service on this machine went to any address."""
    client = Client.find(url=url, state=here if state else None)
    assert client._token == ("secret" if told else None)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1@example.org",
        "http://user:word@127.0.0.1:8642",
        "http://gpu-box:port",
        "http://gpu-box:99999",
        "http:///jobs",
        "http:gpu-box",
    ],
)
def test_what_is_no_address_is_refused_before_it_is_called(here: Path, url: str) -> None:
    """Nothing answered there, it said, as if a service were to be started."""
    with pytest.raises(InvalidInputError, match="give an address such as"):
        Client.find(url=url)


def test_a_state_directory_that_is_torn_is_one_without_a_service(here: Path) -> None:
    (here / ADDRESS).write_text(json.dumps({"url": "http://[torn"}))
    (here / TOKEN).write_bytes(b"\xff")
    assert Client.find(url="http://gpu-box:8642")._token is None
    assert Client.find(url="http://127.0.0.1:8642")._token is None


def test_an_address_in_the_environment_is_told_no_more_than_one_on_the_line(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_URL", "http://example.org")
    assert Client.find()._token is None
    (here / "copied").write_text("theirs")
    assert Client.find(token_file=str(here / "copied"))._token == "theirs"


def test_a_token_does_not_go_where_an_answer_sends_it(telling: HTTPServer) -> None:
    url = f"http://127.0.0.1:{telling.server_port}"
    Telling.elsewhere = f"{url}/elsewhere"
    assert Client(url, "secret").get("/here") == "Bearer secret"
    assert Client(url, "secret").get("/there") is None
