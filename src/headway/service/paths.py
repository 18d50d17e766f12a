"""Where a service keeps what it knows; imports nothing, so the command line can look it up fast."""

from collections.abc import Mapping
from pathlib import Path

ADDRESS = "service.json"  # {"url": ..., "pid": ...} while a service runs
TOKEN = "token"  # the bearer token


def default_state_dir(env: Mapping[str, str]) -> Path:
    """HEADWAY_STATE, or the place that the XDG specification has for it."""
    if env.get("HEADWAY_STATE"):
        return Path(env["HEADWAY_STATE"]).expanduser().absolute()
    base = env.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "headway"
