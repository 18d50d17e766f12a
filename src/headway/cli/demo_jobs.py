"""The four jobs of the demo: real data, real training, a target each."""

import sys
from dataclasses import dataclass
from pathlib import Path

import headway

SCRIPTS = Path(headway.__file__).parent / "agent" / "demos"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoJob:
    """A job to submit, and what it must reach."""

    name: str
    script: str
    epochs: int
    arrives_s: float
    target: float
    higher_is_better: bool
    unit: str
    initial_batch: int
    max_batch: int
    max_per_gpu: int

    def reached(self, metric: float | None) -> bool:
        """Whether the metric is as good as the target."""
        if metric is None:
            return False
        return metric >= self.target if self.higher_is_better else metric <= self.target

    def shown(self, metric: float | None) -> str:
        """The metric with its unit."""
        if metric is None:
            return "-"
        return f"{metric:.1%}" if self.unit == "%" else f"{metric:.3f} {self.unit}"

    def body(self, slots: int) -> dict[str, object]:
        """What is submitted."""
        return {
            "name": self.name,
            "run": [sys.executable, str(SCRIPTS / self.script), "--epochs", str(self.epochs)],
            "workdir": str(SCRIPTS),
            "gpus": {"min": 1, "max": slots},
            "batch": {
                "mode": "adaptive",
                "initial": self.initial_batch,
                "max": self.max_batch,
                "max_per_gpu": self.max_per_gpu,
            },
        }


JOBS = (
    DemoJob(
        name="charlm",
        script="charlm.py",
        epochs=6,
        arrives_s=0,
        target=1.85,
        higher_is_better=False,
        unit="nats",
        initial_batch=16,
        max_batch=64,
        max_per_gpu=64,
    ),
    DemoJob(
        name="digits-cnn",
        script="digits_cnn.py",
        epochs=1000,
        arrives_s=8,
        target=0.96,
        higher_is_better=True,
        unit="%",
        initial_batch=32,
        max_batch=256,
        max_per_gpu=256,
    ),
    DemoJob(
        name="digits-mlp",
        script="digits_mlp.py",
        epochs=600,
        arrives_s=16,
        target=0.95,
        higher_is_better=True,
        unit="%",
        initial_batch=32,
        max_batch=256,
        max_per_gpu=256,
    ),
    DemoJob(
        name="tabular",
        script="tabular.py",
        epochs=1200,
        arrives_s=30,
        target=0.95,
        higher_is_better=True,
        unit="%",
        initial_batch=32,
        max_batch=256,
        max_per_gpu=256,
    ),
)
