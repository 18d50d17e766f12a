"""What the client makes of a refusal."""

from email.message import Message
from io import BytesIO
from urllib.error import HTTPError

import pytest

from headway.core.errors import HeadwayError, InvalidInputError, UnavailableError
from headway.service.client import _refused


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
