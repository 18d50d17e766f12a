"""What is documented exists, and what exists is documented."""

import re
from pathlib import Path

import pytest

from headway.cli.main import COMMANDS
from headway.core.policy import POLICIES
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


def test_every_page_is_in_the_table_of_contents() -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    for page in ROOT.glob("docs/**/*.md"):
        assert str(page.relative_to(ROOT / "docs")) in nav
