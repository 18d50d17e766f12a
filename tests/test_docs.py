"""What is documented exists, and what exists is documented."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from headway.cli.main import COMMANDS
from headway.cli.scenario import SIMULATOR_SETTINGS
from headway.core.policy import POLICIES, SCALERS
from headway.core.types import ChangeCode, ReasonCode

ROOT = Path(__file__).parents[1]
DOCS = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^\$? ?(?:\.venv/bin/)?headway ([a-z]+)", re.MULTILINE)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", DOCS, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{name(page)} links to {target}"


@pytest.mark.parametrize("page", DOCS, ids=name)
def test_commands_that_are_shown_exist(page: Path) -> None:
    for command in COMMAND.findall(page.read_text()):
        assert command in COMMANDS, f"{name(page)} shows headway {command}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_reference(command: str) -> None:
    assert f"\n## headway {command}\n" in (ROOT / "docs/reference/cli.md").read_text()


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_described(policy: str) -> None:
    assert f"`{policy}`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("code", [*ReasonCode, *ChangeCode])
def test_every_reason_code_is_described(code: str) -> None:
    assert f"`{code}`" in (ROOT / "docs/reference/reasons.md").read_text()


@pytest.mark.parametrize("scaler", SCALERS)
def test_every_scaler_and_each_of_its_settings_is_described(scaler: str) -> None:
    page = (ROOT / "docs/explanation/autoscaling.md").read_text()
    assert f"`{scaler}`" in page
    assert f"`+{scaler}`" in (ROOT / "README.md").read_text()
    for setting in fields(SCALERS[scaler]):
        assert f"`{setting.name}`" in page


@pytest.mark.parametrize("policy", POLICIES)
def test_every_setting_is_described(policy: str) -> None:
    sections = (ROOT / "docs/reference/settings.md").read_text().split("\n## ")
    section = "".join(text for text in sections if f"`{policy}`" in text.splitlines()[0])
    for setting in fields(POLICIES[policy]):
        names = (f"| `{setting.name}`", f", `{setting.name}`", f"| `{policy}.{setting.name}`")
        assert any(name in section for name in names), f"{policy}.{setting.name}"


def test_every_setting_of_the_simulator_is_described() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text()
    for setting in SIMULATOR_SETTINGS:
        assert f"| `{setting}` |" in page


def test_every_page_is_in_the_table_of_contents() -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    for page in ROOT.glob("docs/**/*.md"):
        assert str(page.relative_to(ROOT / "docs")) in nav
