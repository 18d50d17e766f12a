"""The small files of a state directory: the token, and where the service listens."""

import json
import os
import secrets
from pathlib import Path

from headway.core.errors import UnavailableError
from headway.service.settings import Settings


def read_or_make_token(settings: Settings) -> str:
    """The bearer token; made at the first start, for its owner alone to read.

    Raises:
        UnavailableError: it can neither be read nor be written.
    """
    path = settings.token_file
    try:
        if path.is_file() and (token := path.read_text().strip()):
            return token
        token = secrets.token_urlsafe(32)
        write(path, token, mode=0o600)
    except OSError as error:
        raise UnavailableError(f"{path}: {error.strerror}") from None
    return token


def tell_address(settings: Settings, url: str) -> None:
    """Say where the service listens, to the command line and to agents.

    Raises:
        UnavailableError: it cannot be written.
    """
    try:
        write(settings.url_file, url)
        write(settings.address_file, json.dumps({"url": url, "pid": os.getpid()}))
    except OSError as error:
        raise UnavailableError(f"{settings.state}: {error.strerror}; free the disk") from None


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """A file that is whole whenever it is there."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.replace(path)
