"""The command tree. A command's module is imported when it is called, so ``--help`` is instant."""

import contextlib
import os
import sys
from importlib import import_module

import click

from headway.core.errors import HeadwayError, InvalidInputError

COMMANDS = {  # name -> (module, what it does in one line)
    "simulate": (
        "headway.cli.simulate",
        "Run a workload in virtual time under one or more policies.",
    ),
    "compare": (
        "headway.cli.compare",
        "Run policies over several seeds; a table with error bars, a page with plots.",
    ),
    "import": ("headway.cli.importing", "Convert an outside trace to a Headway workload."),
    "serve": ("headway.cli.serve", "Start the scheduler on this machine."),
    "submit": ("headway.cli.submit", "Submit a job, from a file or as a command line."),
    "jobs": ("headway.cli.jobs", "List jobs."),
    "show": ("headway.cli.jobs", "Show one job in full."),
    "explain": ("headway.cli.jobs", "Say why a job holds what it holds."),
    "logs": ("headway.cli.jobs", "Print what a job has printed."),
    "cancel": ("headway.cli.jobs", "Cancel a job."),
    "nodes": ("headway.cli.nodes", "List nodes, their GPUs, and who holds them."),
    "tenants": ("headway.cli.ledger", "Say which tenants are ahead and behind."),
    "demo": ("headway.cli.demo", "Run real training jobs under the scheduler on this machine."),
}


class LazyGroup(click.Group):
    """Knows its commands by name, and loads one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command's function has its name, but ``import`` is a word of Python."""
        if name not in COMMANDS:
            return None
        module = import_module(COMMANDS[name][0])
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table, without loading anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(
    cls=LazyGroup, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="headway")
def headway() -> None:
    """Headway schedules deep-learning training by the progress that jobs make."""


def main() -> None:
    """Run the command line: 2 for bad input, 1 for failure, and never a traceback for either."""
    try:
        headway.main(standalone_mode=False)
    except InvalidInputError as error:
        _fail(str(error), 2)
    except HeadwayError as error:
        _fail(str(error), 1)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except BrokenPipeError:  # the reader of our output has gone, as in `headway jobs | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:  # what no command expects, as a full disk behind stdout
        _drop_output()
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 1)


def _drop_output() -> None:
    """What could not be printed is not tried again at the end, with an error of its own."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    line = " ".join(message.split())
    click.echo(f"headway: {line}", err=True)
    sys.exit(code)
