"""The efficiency law on MLPerf's reference convergence points.

``python benchmarks/efficiency.py --points FOLDER [--json]``: FOLDER holds the files of MLCommons'
mlperf_logging/rcp_checker, one for each benchmark. For each: how far the law is off on average and
at most, the noise scale that it implies, and the batch sizes that are off the line of the others.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from headway.core.model.law import fit_examples_law, outliers
from headway.core.types import FloatArray


def points(path: Path) -> tuple[FloatArray, FloatArray]:
    """Batch sizes, and the mean over the seeds of the examples or epochs that each needed."""
    entries = json.loads(path.read_text(encoding="utf-8")).values()
    needed = [(one["BS"], next(v for k, v in one.items() if "converge" in k)) for one in entries]
    sizes, seeds = zip(*sorted(needed), strict=True)
    return np.array(sizes, dtype=np.float64), np.array([np.mean(one) for one in seeds])


def laws(folder: Path) -> Iterator[dict[str, object]]:
    """One answer for each file."""
    for path in sorted(folder.glob("*.json")):
        sizes, needed = points(path)
        law, odd = fit_examples_law(sizes, needed), outliers(sizes, needed)
        errors = np.abs(law.errors(sizes, needed))
        yield {
            "benchmark": path.name.partition("__")[0],
            "batch_sizes": sizes.size,
            "mean_error": float(errors.mean()),
            "max_error": float(errors.max()),
            "noise_scale": law.noise_scale,
            "outliers": sizes[odd].astype(np.int64).tolist(),
        }


@click.command()
@click.option("--points", "folder", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(folder: Path, as_json: bool) -> None:
    """Fit and show."""
    found = list(laws(folder))
    if as_json:
        click.echo(json.dumps({"results": found}))
        return
    for one in found:
        click.echo(
            f"{one['benchmark']:12} {one['batch_sizes']:3} sizes  mean {one['mean_error']:.1%}  "
            f"max {one['max_error']:.1%}  phi {one['noise_scale']:,.0f}  outliers {one['outliers']}"
        )


if __name__ == "__main__":
    main()
