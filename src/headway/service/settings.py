"""All that can be set about a service: defaults, a TOML file, the environment, then options."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path

from headway.core.errors import InvalidInputError
from headway.core.policy import DEFAULT, has_setting
from headway.core.policy.shares import tenants_text
from headway.service.paths import ADDRESS, TOKEN, default_state_dir

PREFIX = "HEADWAY_"
MAX_SLOTS = 4096  # policies keep a column for each
_TABLES = ("set", "tenants")  # of the file and the options, not fields of Settings
_SECONDS = ("round_s", "poll_s", "report_log_s")
_KINDS: Mapping[str, type] = {
    **dict.fromkeys(("port", "slots", "seed"), int),
    **dict.fromkeys(_SECONDS, float),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that ``serve`` may be told; each name is a key of the file and an option."""

    state: Path  # event log, token, job directories
    host: str = "127.0.0.1"
    port: int = 8642  # 0: any that is free
    slots: int | None = None  # GPUs, or CPU slots; None: what the machine has
    engine: str = "local"
    policy: str = DEFAULT
    policy_settings: Mapping[str, str] = field(default_factory=dict)
    round_s: float = 60.0
    poll_s: float = 0.2  # how often the engine is asked what has happened
    report_log_s: float = 5.0  # a job's report is logged this often at most
    seed: int = 0
    stop_jobs: bool = False  # at the end of the service

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a value out of its range."""
        for name, least in (("round_s", 0.1), ("poll_s", 0.01), ("report_log_s", 0.0)):
            value: float = getattr(self, name)
            if not least <= value < float("inf"):
                raise InvalidInputError(f"{name} is {value:g}; give {least:g} seconds or more")
        if not 0 <= self.port <= 65535:
            raise InvalidInputError(f"port is {self.port}; give 0 (any that is free) to 65535")
        if self.slots is not None and not 1 <= self.slots <= MAX_SLOTS:
            raise InvalidInputError(f"slots is {self.slots}; give 1 to {MAX_SLOTS}")
        if self.seed < 0:
            raise InvalidInputError(f"seed is {self.seed}; give 0 or more")

    @property
    def database(self) -> Path:
        """The event log."""
        return self.state / "headway.db"

    @property
    def token_file(self) -> Path:
        """The bearer token, for its owner alone to read."""
        return self.state / TOKEN

    @property
    def address_file(self) -> Path:
        """Where the service listens and who it is, for the command line."""
        return self.state / ADDRESS

    @property
    def url_file(self) -> Path:
        """Where the service listens, for agents; stays when the service is gone."""
        return self.state / "url"

    @property
    def jobs_dir(self) -> Path:
        """A directory for each job."""
        return self.state / "jobs"


def load(
    options: Mapping[str, object], env: Mapping[str, str], config: Path | None = None
) -> Settings:
    """Settings from all sources; options that are None were not given.

    Raises:
        InvalidInputError: an unknown key, or a value of another type or out of range.
    """
    texts = _file(config) if config else {}
    known = {f.name for f in fields(Settings)}
    texts |= {
        key: env[PREFIX + key.upper()]
        for key in sorted(known - {"policy_settings"})
        if PREFIX + key.upper() in env
    }
    given = {key: _parsed(key, text) for key, text in texts.items() if key not in _TABLES}
    given |= {
        key: value for key, value in options.items() if value is not None and key not in _TABLES
    }
    given.setdefault("state", default_state_dir(env))
    made = replace(Settings(state=Path()), **given)  # type: ignore[arg-type]
    pairs = (*_pairs(texts.get("set", {})), *_pairs(options.get("set") or {}))
    tenants = _tenants(made.policy, options.get("tenants") or texts.get("tenants"))
    return replace(made, policy_settings=tenants | _for_policy(made.policy, dict(pairs)))


def _tenants(policy: str, table: object) -> dict[str, str]:
    """The setting of a policy that weighs tenants: a table of the file, or the option's text."""
    if table is None:
        return {}
    if not has_setting(policy, "tenants"):
        raise InvalidInputError(f"tenants: the policy {policy} does not weigh them; take headway")
    if isinstance(table, Mapping):
        return {"tenants": tenants_text(table)}
    if not isinstance(table, str):
        raise InvalidInputError("tenants must be a table, as in vision = 2")
    return {"tenants": table}


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    """Policy settings as given: a table of the file, or texts such as ``pollux.p=-1``."""
    if isinstance(value, Mapping):
        return tuple((str(key), str(text)) for key, text in value.items())
    if not isinstance(value, list | tuple):
        raise InvalidInputError('set must be a table, as in "pollux.p" = -1')
    pairs = []
    for text in value:
        key, equals, setting = str(text).partition("=")
        if not equals:
            raise InvalidInputError(f"--set {text}: give POLICY.SETTING=VALUE, as in pollux.p=-1")
        pairs.append((key.strip(), setting.strip()))
    return tuple(pairs)


def _for_policy(policy: str, pairs: Mapping[str, str]) -> dict[str, str]:
    own = {}
    for key, text in pairs.items():
        name, dot, setting = key.partition(".")
        if not dot or name != policy:
            raise InvalidInputError(f"--set {key}: the policy is {policy}; set {policy}.SETTING")
        own[setting] = text
    return own


def _file(path: Path) -> dict[str, object]:
    try:
        texts = tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidInputError(f"config {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"config {path}: {error}") from None
    known = ({f.name for f in fields(Settings)} - {"policy_settings"}) | {*_TABLES}
    for key in texts:
        if key not in known:
            close = ", ".join(get_close_matches(key, known) or sorted(known))
            raise InvalidInputError(f"config {path}: unknown key {key!r}; known are {close}")
    return dict(texts)


def _parsed(key: str, given: object) -> object:
    """A text or a value of a TOML file as the type of the setting."""
    text = str(given)
    if key == "state":
        return Path(text).expanduser().absolute()
    if key == "stop_jobs":
        return _yes(key, text)
    kind = _KINDS.get(key, str)
    try:
        return kind(text)
    except ValueError:
        raise InvalidInputError(f"{key} must be of type {kind.__name__}, not {text!r}") from None


def _yes(key: str, text: str) -> bool:
    if text.lower() not in {"true", "false", "1", "0"}:
        raise InvalidInputError(f"{key} must be true or false, not {text!r}")
    return text.lower() in {"true", "1"}
