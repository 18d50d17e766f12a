"""What an experiment tracker is told: keyed by samples, one run across restarts, resizes marked.

``job.tracker(TensorBoard("runs"))``, or an object of your own with the methods of ``Tracker``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, final

from headway.core.types import BatchChange, JobReport


@dataclass(frozen=True, slots=True)
class Run:
    """The job as its tracker may want to name it, the same after every restart."""

    job_id: str
    folder: Path  # the job's own, for what a tracker must remember
    samples: int  # already read; what was told of later ones is told anew


class Tracker(Protocol):
    """Where the figures of a job go; told by worker 0 alone."""

    def begin(self, run: Run) -> None:
        """Before anything else; again after every restart."""
        ...

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        """Figures at so many samples."""
        ...

    def marker(self, text: str, samples: int) -> None:
        """The job has another size or batch from here on."""
        ...

    def end(self) -> None:
        """This process leaves; the run may go on in another."""
        ...


def figures(report: JobReport, gpus: int) -> dict[str, float]:
    """The figures of a report that are known."""
    known = {
        "loss": report.loss,
        "metric": report.metric,
        "noise_scale": report.noise_scale,
        "noise_scale_error": report.noise_scale_error,
        "progress_examples": report.progress_examples,
        "eta_s": report.eta_s,
        "restart_s": report.restart_s,
    }
    sizes = {"batch_size": report.batch_size, "accum_steps": report.accum_steps, "gpus": gpus}
    return {
        f"headway/{name}": float(value)
        for name, value in (known | sizes).items()
        if value is not None
    }


def is_mark(change: BatchChange) -> bool:
    """Whether it is of the kind that a curve may show: not of noise scale and measuring alone."""
    sizes = (change.old_gpus, change.old_batch_size)
    return sizes != (change.gpus, change.new_batch_size)


def told(change: BatchChange) -> str:
    """A change in words."""
    return (
        f"{change.old_gpus} to {change.gpus} GPUs, batch {change.old_batch_size} to "
        f"{change.new_batch_size}, learning rate times {change.lr_factor:.3g}: {change.why}"
    )


@final
class TensorBoard:
    """Event files in one folder; what a run told of samples that are read again is hidden."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = str(folder)
        self._writer: Any = None

    def begin(self, run: Run) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # steps from there on of earlier files are dropped by TensorBoard when it reads them
        self._writer = SummaryWriter(self._folder, purge_step=run.samples + 1)

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, samples)

    def marker(self, text: str, samples: int) -> None:
        self._writer.add_text("headway/resize", text, samples)

    def end(self) -> None:
        self._writer.close()


@final
class WandB:
    """One run of Weights & Biases by the job's name; ``options`` are those of ``wandb.init``."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._run: Any = None

    def begin(self, run: Run) -> None:
        import wandb

        self._run = wandb.init(id=run.job_id, resume="allow", **self._options)
        self._run.define_metric("headway/*", step_metric="samples")

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        self._run.log({**values, "samples": samples})

    def marker(self, text: str, samples: int) -> None:
        self._run.log({"headway/resize": text, "samples": samples})

    def end(self) -> None:
        self._run.finish()


@final
class MLflow:
    """One run of MLflow, remembered beside the job; ``options`` are those of ``start_run``."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._mlflow: Any = None

    def begin(self, run: Run) -> None:
        import mlflow

        self._mlflow = mlflow
        remembered = run.folder / "mlflow-run"
        if remembered.exists():
            mlflow.start_run(run_id=remembered.read_text(encoding="utf-8"))
            return
        begun = mlflow.start_run(run_name=run.job_id, **self._options)
        remembered.write_text(begun.info.run_id, encoding="utf-8")

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        self._mlflow.log_metrics(dict(values), step=samples)

    def marker(self, text: str, samples: int) -> None:
        self._mlflow.log_metric("headway/resize", 1.0, step=samples)
        self._mlflow.set_tag(f"headway.resize.{samples}", text)

    def end(self) -> None:
        self._mlflow.end_run()
