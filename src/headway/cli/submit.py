"""headway submit: a job from a file, or everything after ``--`` as a command."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from headway.cli.client import Connect, service_options
from headway.cli.output import print_json
from headway.core.batch import BatchMode, RuleName
from headway.core.errors import InvalidInputError


class Submit(click.Command):
    """Leaves everything after the first ``--`` alone: it is the user's command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split before click sees it."""
        ctx.meta["run"] = None
        if "--" in args:
            cut = args.index("--")
            args, ctx.meta["run"] = args[:cut], args[cut + 1 :]
        return super().parse_args(ctx, args)


@click.command("submit", cls=Submit, options_metavar="[OPTIONS] [FILE | -- COMMAND...]")
@click.argument("file", required=False, metavar="")
@click.option("--name", help="Small letters, digits, hyphens.")
@click.option("--gpus", metavar="N[-M]", help="How many GPUs it may hold, as in 1-4.")
@click.option("--cpus-per-gpu", type=float, help="CPUs that it needs beside each GPU.")
@click.option("--memory-gb-per-gpu", type=float, help="Memory beside each GPU, in GB.")
@click.option("--batch", metavar="N[-M]", help="Global batch size, as in 32 or 32-512.")
@click.option("--mode", type=click.Choice([str(mode) for mode in BatchMode]), help="Of the batch.")
@click.option("--schedule", metavar="STEPS", help="Batch by samples, as in '0:64 2M:128'.")
@click.option("--rule", type=click.Choice([str(rule) for rule in RuleName]), help="Of the batch.")
@click.option("--replay-decisions", metavar="LOG", help="Repeat the decisions.jsonl of a job.")
@click.option("--max-per-gpu", type=int, help="Largest batch that fits one GPU.")
@click.option("--workdir", help="Folder to start in.  [here; for a file, where the file is]")
@click.option("--env", multiple=True, metavar="KEY=VALUE", help="For the workers.")
@click.option("--tenant", help="Who owns the job.")
@click.option("--weight", type=float, help="Share, relative to other jobs.")
@click.option("--work", type=float, help="Scale-invariant examples to the end, if you know.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@service_options
@click.pass_context
def submit_command(
    ctx: click.Context,
    /,
    file: str | None,
    dry_run: bool,
    connect: Connect,
    as_json: bool,
    **options: Any,
) -> None:
    """Submit a job: a YAML FILE, or a command after ``--``; options take the place of fields.

    \b
    headway submit job.yaml
    headway submit --gpus 1-4 --batch 32-512 --mode adaptive -- python train.py --epochs 20
    """
    body = job(file, ctx.meta["run"], options)
    client = connect()
    answer = client.post("/api/v1/jobs", body, dry_run="true" if dry_run else None)
    if as_json:
        print_json(answer)
    elif dry_run:
        click.echo(answer["message"])
    else:
        job_id = answer["job_id"]
        click.echo(
            f"{job_id} is submitted; see `headway show {job_id}`, `headway logs -f {job_id}`"
        )


def job(file: str | None, run: list[str] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the request; the service judges it.

    Raises:
        InvalidInputError: there is no job in it, or the file cannot be read.
    """
    if file is None and not run:
        raise InvalidInputError("give a job file, or a command after --, as in -- python train.py")
    body, base = _file(file) if file else ({}, Path.cwd())
    beside = ("cpus_per_gpu", "memory_gb_per_gpu")
    plain = ("name", "gpus", *beside, "tenant", "weight", "work", "workdir")
    body |= {key: options[key] for key in plain if options.get(key) is not None}
    if options.get("workdir"):
        base = Path.cwd()
    if run:
        body["run"] = run
        body.setdefault("name", _name(run))
        body.pop("script", None)
    body["workdir"] = os.path.abspath(base / Path(str(body.get("workdir", "."))).expanduser())
    _batch(body, options)
    _env(body, options.get("env") or ())
    return body


def _file(name: str) -> tuple[dict[str, Any], Path]:
    import yaml

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        body = yaml.safe_load(text)
    except OSError as error:
        raise InvalidInputError(f"{name}: {error.strerror}") from None
    except RecursionError:
        raise InvalidInputError(f"{name}: is nested too deep; a job file has few levels") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a 13th month
        raise InvalidInputError(f"{name}: is not YAML: {error}") from None
    if not isinstance(body, dict):
        raise InvalidInputError(f"{name}: has no fields; write at least run: python train.py")
    if not all(isinstance(key, str) for key in body):
        raise InvalidInputError(f"{name}: every field must be a word")
    return body, Path.cwd() if name == "-" else Path(name).absolute().parent


def _name(run: list[str]) -> str:
    """After the script, as a name may be."""
    script = next((word for word in run if word.endswith((".py", ".sh"))), run[0])
    letters = [c if c.isascii() and c.isalnum() else "-" for c in Path(script).stem.lower()]
    return "".join(letters).strip("-")[:40].strip("-") or "job"


def _batch(body: dict[str, Any], options: Mapping[str, Any]) -> None:
    """Options change what the file says of the batch, field by field."""
    plain = ("mode", "max_per_gpu", "schedule", "rule")
    chosen = {key: options[key] for key in plain if options.get(key) is not None}
    if chosen.keys() & {"schedule", "rule"}:
        chosen.setdefault("mode", str(BatchMode.SCHEDULE))
    if options.get("replay_decisions") is not None:
        chosen["replay"] = _records(options["replay_decisions"])
    if options.get("batch") is not None:
        chosen |= _span("--batch", options["batch"])
    if not chosen:
        return
    given = body.get("batch") or {}
    if not isinstance(given, dict):
        given = _span("batch", str(given))
    body["batch"] = {**given, **chosen}


def _records(name: str) -> list[Any]:
    """The records of a decision log; what they say is for the service to judge."""
    try:
        lines = Path(name).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no text"
        raise InvalidInputError(f"--replay-decisions {name}: {why}") from None
    records = []
    for line in lines:
        with suppress(ValueError):  # a line that a crash cut: training went on from before it
            records.append(json.loads(line))
    if not records:
        raise InvalidInputError(
            f"--replay-decisions {name}: has no records; give the decisions.jsonl beside the "
            "checkpoints of a job"
        )
    return records


def _span(field: str, text: str) -> dict[str, int]:
    first, dash, last = text.partition("-")
    try:
        initial, most = int(first), int(last if dash else first)
    except ValueError:
        raise InvalidInputError(f"{field} {text}: is no range; write 32 or 32-512") from None
    return {"initial": initial, "max": most}


def _env(body: dict[str, Any], pairs: tuple[str, ...]) -> None:
    """The programs that the owner finds are those that the job finds: PATH goes with it."""
    env = body.get("env") or {}
    if not isinstance(env, dict):
        return  # the service says so
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InvalidInputError(f"--env {pair}: write KEY=VALUE")
        env[key] = value
    if "PATH" in os.environ:
        env.setdefault("PATH", os.environ["PATH"])
    body["env"] = env
