"""What all tests share: where the real traces and profiles are, if they are there at all."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of third parties' traces and profiles; tests that need it skip without it."""
    if not SHARED.is_dir():
        pytest.skip("needs the third-party data that is not part of this repository")
    return SHARED.resolve()
