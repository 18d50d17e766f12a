"""A client of the REST API: finds the service, and turns its answers into errors."""

import json
import math
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, final
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from headway.core.errors import InvalidInputError, UnavailableError
from headway.protocol.environment import TOKEN_FILE, URL
from headway.service.paths import ADDRESS, TOKEN, default_state_dir

TIMEOUT_S = 90.0  # a submission waits for a decision that is being made
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@final
class Client:
    """A service that is known by its address."""

    def __init__(self, url: str, token: str | None) -> None:
        """Raise InvalidInputError if this is no address."""
        scheme, local = _parts(url)
        if scheme not in {"http", "https"}:
            raise InvalidInputError(f"--url {url}: give an address such as http://127.0.0.1:8642")
        self.url = url.rstrip("/")
        self._token = token
        # a proxy of the environment does not know this machine's own services
        handlers = [urllib.request.ProxyHandler({})] if local else []
        self._opener = urllib.request.build_opener(*handlers)

    @classmethod
    def find(
        cls,
        *,
        url: str | None = None,
        state: str | Path | None = None,
        token_file: str | None = None,
    ) -> "Client":
        """The service at this address; without one, that of the state directory.

        Raises:
            UnavailableError: there is none.
            InvalidInputError: there is no token in the file that was named for it.
        """
        directory = Path(state).expanduser() if state else default_state_dir(os.environ)
        named = url or (None if state else os.environ.get(URL))
        url = named or _address(directory)
        if token_file:
            return cls(url, _token(token_file, "--token-file"))
        if not state and os.environ.get(TOKEN_FILE):
            return cls(url, _token(os.environ[TOKEN_FILE], TOKEN_FILE))
        if named and not state and not _is_here(named, directory):
            return cls(url, None)  # what a service here keeps secret is told to nobody else
        try:
            token = (directory / TOKEN).read_text().strip()
        except (OSError, UnicodeDecodeError):  # the service says what it misses
            token = None
        return cls(url, token)

    def get(self, path: str, **query: object) -> Any:
        """The answer to a GET."""
        return self._call("GET", path, query)

    def post(self, path: str, body: object = None, **query: object) -> Any:
        """The answer to a POST."""
        return self._call("POST", path, query, body)

    def delete(self, path: str) -> Any:
        """The answer to a DELETE."""
        return self._call("DELETE", path, {})

    def _call(
        self, method: str, path: str, query: Mapping[str, object], body: object = None
    ) -> Any:
        given = {key: value for key, value in query.items() if value is not None}
        url = self.url + quote(path, safe="/?=&%") + (f"?{urlencode(given)}" if given else "")
        data = None if body is None else _encoded(body)
        request = urllib.request.Request(url, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error) from None
        except OSError as error:
            why = getattr(error, "reason", error)
            raise UnavailableError(
                f"nothing answers on {self.url} ({why}); start a service with `headway serve`, "
                "or name one with --url"
            ) from None
        except (HTTPException, ValueError):
            raise UnavailableError(f"what listens on {self.url} is no Headway service") from None


def _address(directory: Path) -> str:
    try:
        url = json.loads((directory / ADDRESS).read_text())["url"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UnavailableError(
            f"no service runs on {directory}; start one with `headway serve`, "
            "or name one with --url or --state"
        ) from None
    return str(url)


def _is_here(url: str, directory: Path) -> bool:
    """Whether it is of this machine, or the very address of the service of this directory."""
    try:
        return _parts(url)[1] or _place(url) == _place(_address(directory))
    except (UnavailableError, ValueError):
        return False


def _place(url: str) -> tuple[str, str | None, int | None, str]:
    """What two spellings of an address have in common; host names know no case."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port, parts.path.rstrip("/")


def _token(name: str, source: str) -> str:
    """The one word of a file."""
    try:
        token = Path(name).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no text"
        raise InvalidInputError(f"{source} {name}: {why}") from None
    if not token.isascii() or len(token.split()) != 1:
        raise InvalidInputError(
            f"{source} {name}: holds no token; copy the file `token` of the service's state "
            "directory"
        )
    return token


def _parts(url: str) -> tuple[str, bool]:
    """Scheme of an address, empty if it is none, and whether it is one of this machine."""
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
    except ValueError:  # as in http://[bad or http://host:port
        return "", False
    return parts.scheme if named else "", named and parts.hostname in LOOPBACK


def _encoded(body: object) -> bytes:
    _check_finite(body, "")
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"the job has a value that JSON cannot hold: {error}") from None


def _check_finite(value: object, where: str) -> None:
    """JSON would make nothing of infinity, and the service would take it as not given."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{where}: {value} is no finite number; give one, or leave it out")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_finite(inner, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            _check_finite(inner, where)


def _refused(error: urllib.error.HTTPError) -> InvalidInputError | UnavailableError:
    try:
        detail = str(json.load(error)["detail"])
        if error.code == HTTPStatus.UNAUTHORIZED:
            detail += "; name that file, or a copy, with --token-file"
    except (ValueError, KeyError, TypeError):
        detail = f"{error.url} answers {error.code}; is it a Headway service?"
    mendable = HTTPStatus.BAD_REQUEST <= error.code < HTTPStatus.INTERNAL_SERVER_ERROR
    if mendable and error.code != HTTPStatus.UNAUTHORIZED:
        return InvalidInputError(detail)
    return UnavailableError(detail)
