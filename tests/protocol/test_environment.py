"""Names that three programs agree on must not collide."""

from headway.protocol import environment

NAMES = {name: value for name, value in vars(environment).items() if name.isupper()}
FILES = {"RESULT_FILE", "AGENT_FILE", "LOG_FILE", "CHECKPOINTS"}
VARIABLES = NAMES.keys() - FILES - {"YIELDED"}


def test_every_variable_has_a_name_of_its_own_and_our_prefix() -> None:
    values = [NAMES[name] for name in VARIABLES]
    assert len(set(values)) == len(values) >= 8
    assert all(value.startswith("HEADWAY_") for value in values)


def test_files_of_a_job_lie_beside_each_other() -> None:
    values = [NAMES[name] for name in FILES]
    assert len(set(values)) == len(FILES)
    assert all("/" not in value for value in values)


def test_yielding_is_told_from_success_failure_and_signals() -> None:
    """0 is success, 1 and 2 are Python's errors, 126 and above the shell's and the signals'."""
    assert 2 < environment.YIELDED < 126
