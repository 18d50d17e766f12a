"""Runs tests and tells how many passed: ``python benchmarks/checked.py TEST... [--json]``."""

import json

import click
import pytest


class Counts:
    """Of the tests that were run."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test has three phases; it has passed when its call has."""
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed += 1


@click.command()
@click.argument("tests", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(tests: tuple[str, ...], as_json: bool) -> None:
    """Run and count."""
    counts = Counts()
    ours = ["-o", "addopts=--import-mode=importlib", "-p", "no:terminal"]
    pytest.main([*ours, *tests], plugins=[counts])
    found = {"passed": counts.passed, "failed": len(counts.failed), "which": counts.failed}
    click.echo(json.dumps(found) if as_json else str(found))


if __name__ == "__main__":
    main()
