"""The efficiency law: exact on itself, and what MLPerf's reference trainings say of it."""

import json
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.model.efficiency import efficiency
from headway.core.model.law import ExamplesLaw, fit_examples_law, outliers
from headway.core.types import FloatArray

SIZES = np.array([32.0, 128.0, 512.0, 1024.0])
# phi and mean relative error of a least-squares fit to the mean over the seeds of each batch size
MLPERF = {
    "resnet": (46_909, 0.034),
    "bert": (12_720, 0.052),
    "rnnt": (3_690, 0.020),
    "retinanet": (1_436, 0.052),
    "maskrcnn": (832, 0.029),
    "llama31_8b": (84, 0.024),
    "flux1": (2_766, 0.014),
    "dlrm": (247_295, 0.001),
    "deepcam": (835, 0.068),
}


@given(phi=st.floats(0, 1e6), each=st.floats(1e-3, 1e3))
def test_a_law_is_found_again_from_what_it_says(phi: float, each: float) -> None:
    law = ExamplesLaw(at_none=each * phi, each=each)
    found = fit_examples_law(SIZES, law.examples(SIZES))
    assert found.noise_scale == pytest.approx(phi, rel=1e-3, abs=0.1)
    assert not outliers(SIZES, law.examples(SIZES)).any()


@given(phi=st.floats(0, 1e6))
def test_it_is_the_efficiency_of_pollux(phi: float) -> None:
    needed = ExamplesLaw(at_none=phi, each=1.0).examples(SIZES)
    assert needed[0] / needed == pytest.approx(efficiency(phi, 32, SIZES))


def test_where_the_batch_makes_no_difference_the_noise_scale_is_infinite() -> None:
    assert fit_examples_law(SIZES, np.full(4, 7.0)).noise_scale > 1e9
    assert fit_examples_law(SIZES, np.array([9.0, 8.0, 7.0, 6.0])).noise_scale == inf


def test_one_point_off_the_line_of_all_others_is_an_outlier() -> None:
    sizes = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    needed = 10 + sizes
    needed[3] *= 2
    assert outliers(sizes, needed).tolist() == [False, False, False, True, False]


def test_too_few_points_call_none_an_outlier() -> None:
    assert not outliers(SIZES[:3], np.array([1.0, 2.0, 99.0])).any()


@pytest.mark.parametrize(
    ("sizes", "examples"), [([32.0], [1.0]), ([32.0, 64.0], [1.0, -1.0]), ([0.0, 1.0], [1.0, 1.0])]
)
def test_what_cannot_be_fitted_is_refused(sizes: list[float], examples: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="efficiency law"):
        fit_examples_law(np.array(sizes), np.array(examples))


def points(shared_data: Path, name: str) -> tuple[FloatArray, FloatArray]:
    """Batch sizes, and the mean over the seeds of what each needed."""
    (path,) = (shared_data / "mlperf" / "rcp").glob(f"{name}__*.json")
    entries = json.loads(path.read_text()).values()
    needed = [(one["BS"], next(v for k, v in one.items() if "converge" in k)) for one in entries]
    sizes, seeds = zip(*sorted(needed), strict=True)
    return np.array(sizes, float), np.array([np.mean(one) for one in seeds])


@pytest.mark.parametrize("name", MLPERF)
def test_mlperf_reference_trainings_follow_it(shared_data: Path, name: str) -> None:
    """MLCommons, mlperf_logging, rcp_checker: 3 to 13 batch sizes, 10 to 20 seeds each."""
    sizes, needed = points(shared_data, name)
    law = fit_examples_law(sizes, needed)
    phi, error = MLPERF[name]
    assert law.noise_scale == pytest.approx(phi, rel=0.02)
    assert np.abs(law.errors(sizes, needed)).mean() == pytest.approx(error, abs=0.001)
    assert not outliers(sizes, needed).any()


def test_the_odd_entry_of_gpt3_is_flagged_and_no_other(shared_data: Path) -> None:
    """Its entries mix two starting points; the one at 3,072 is off the line."""
    sizes, needed = points(shared_data, "gpt3")
    assert sizes[outliers(sizes, needed)].tolist() == [3072.0]
