"""What all tests share: where the real traces and profiles are, if they are there at all."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# a busy machine is no failure: tests assert counts and outcomes, never seconds
settings.register_profile("headway", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headway")

SHARED = Path(__file__).parents[1] / ".." / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of third parties' traces and profiles; tests that need it skip without it."""
    if not SHARED.is_dir():
        pytest.skip("needs the third-party data that is not part of this repository")
    return SHARED.resolve()
