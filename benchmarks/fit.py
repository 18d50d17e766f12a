"""How well the throughput models fit measured profiles, and how well they foretell others.

python benchmarks/fit.py --profiles FOLDER [--json]: for each application the mean relative error
of the step time by the linear model (Pollux, Eqn. 8-11), and the held-out error of each model.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time

from headway.core.errors import InvalidInputError
from headway.core.model.choice import candidates, held_out_error
from headway.core.model.fit import fit, fit_profile, mean_relative_error
from headway.traces.pollux import read_observations


def figures(folder: Path) -> dict[str, object]:
    """The figures of one application."""
    seen = read_observations(folder)
    began_s = process_time()
    linear, online = fit_profile(seen), fit(seen)
    held_out = {
        str(kind): held_out_error(seen, partial(fit_profile, kind=kind))
        for kind in candidates(seen)
    }
    best = min(held_out, key=lambda kind: held_out[kind])
    return {
        "app": folder.name,
        "observations": seen.step_s.size,
        "placements": len(set(seen.placements)),
        "linear_error": mean_relative_error(linear.params, seen),
        "online_error": mean_relative_error(online.params, seen),
        "held_out": held_out,
        "best": best,
        "best_held_out_error": held_out[best],
        "cpu_s": process_time() - began_s,
    }


def applications(profiles: Path) -> Iterator[Path]:
    """The folders that hold the measurements of an application."""
    found = sorted(path.parent for path in profiles.glob("*/placements.csv"))
    if not found:
        raise InvalidInputError(
            f"--profiles {profiles} holds no Pollux profiles; expected APPLICATION/placements.csv"
        )
    yield from found


def table(results: list[dict[str, object]]) -> Iterator[str]:
    """The same for people, in percent."""
    yield f"{'app':12} {'linear':>7} {'online':>7}   held out"
    for one in results:
        held_out = one["held_out"]
        assert isinstance(held_out, dict)
        errors = ", ".join(f"{kind} {100 * error:.1f}" for kind, error in held_out.items())
        yield f"{one['app']:12} {one['linear_error']:7.1%} {one['online_error']:7.1%}   {errors}"


def main() -> int:
    """Exit 2 and one line where there is nothing to read."""
    parser = argparse.ArgumentParser(description="Errors of the throughput models.")
    parser.add_argument("--profiles", type=Path, required=True, help="a folder of Pollux profiles")
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    options = parser.parse_args()
    try:
        results = [figures(folder) for folder in applications(options.profiles)]
    except InvalidInputError as error:
        print(error, file=sys.stderr)
        return 2
    lines = [json.dumps({"results": results})] if options.json else table(results)
    print(*lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
