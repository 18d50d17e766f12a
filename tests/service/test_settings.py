"""Settings: options before the environment before the file before the defaults."""

from pathlib import Path
from typing import Any

import pytest

from headway.core.errors import InvalidInputError
from headway.service.paths import default_state_dir
from headway.service.settings import Settings, load


def test_defaults() -> None:
    settings = load({}, {"HOME": "/home/me"})
    assert settings.host == "127.0.0.1"  # nobody outside is let in unasked
    assert (settings.policy, settings.round_s, settings.stop_jobs) == ("headway", 60.0, False)
    assert settings.state == Path("~/.local/state/headway").expanduser()


def test_the_nearer_source_wins(tmp_path: Path) -> None:
    config = tmp_path / "headway.toml"
    config.write_text(
        'port = 1\nround_s = 10\npolicy = "las"\nstop_jobs = true\n'
        '[set]\n"pollux.p" = -1\n"pollux.x" = 1\n'
    )
    env = {"HEADWAY_PORT": "2", "HEADWAY_POLICY": "pollux", "HEADWAY_URL": "http://else:1"}
    options: dict[str, Any] = {"port": 3, "slots": None, "set": ("pollux.x=2",)}
    settings = load(options, env, config)
    assert (settings.port, settings.policy, settings.round_s) == (3, "pollux", 10.0)
    assert settings.stop_jobs
    assert settings.policy_settings == {"p": "-1", "x": "2"}


def test_tenants_are_a_table_of_the_file_or_an_option(tmp_path: Path) -> None:
    config = tmp_path / "headway.toml"
    config.write_text("[tenants]\nvision = 2\nspeech = 0.5\n")
    env = {"HOME": "/home/me"}
    assert load({}, env, config).policy_settings == {"tenants": "speech:0.5,vision:2"}
    assert load({"tenants": "a:1"}, env, config).policy_settings == {"tenants": "a:1"}


def test_the_state_directory_by_the_environment() -> None:
    assert default_state_dir({"HEADWAY_STATE": "/a"}) == Path("/a")
    assert default_state_dir({"XDG_STATE_HOME": "/b"}) == Path("/b/headway")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prot = 1", "unknown key 'prot'; known are port"),
        ('port = "x"', "port must be of type int, not 'x'"),
        ("round_s = -1", "round_s is -1; give 0.1 seconds or more"),
        ("round_s = nan", "round_s is nan"),
        ('stop_jobs = "maybe"', "stop_jobs must be true or false"),
        ("port = ", "headway.toml: "),
        ("set = 3", "set must be a table"),
        ("[set]\np = 1", "--set p: the policy is headway; set headway.SETTING"),
        ("tenants = 3", "tenants must be a table"),
        ("[tenants]\na = 0", "the weight of a must be a number"),
        ('policy = "las"\n[tenants]\na = 1', "the policy las does not weigh them"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    config = tmp_path / "headway.toml"
    config.write_text(text)
    with pytest.raises(InvalidInputError) as error:
        load({}, {}, config)
    assert told in str(error.value)


def test_settings_are_judged_however_they_are_made() -> None:
    with pytest.raises(InvalidInputError, match="port is 99999"):
        Settings(state=Path("/a"), port=99999)


@pytest.mark.parametrize(("name", "value"), [("seed", -1), ("slots", 0), ("slots", 10**8)])
def test_a_number_out_of_range_is_named(name: str, value: int) -> None:
    """A negative seed was a traceback; so many slots were more than a policy can count."""
    with pytest.raises(InvalidInputError, match=f"{name} is {value}; give"):
        load({name: value}, {"HOME": "/home/me"})
