"""Plans and regimes are values that a log can hold."""

import msgspec
import pytest

from headway.core.adaptation import Adaptation, Regime, Unit, declared


def test_a_plan_and_its_regimes_survive_json() -> None:
    adaptation = Adaptation(
        rule="gns", model="LM", configurations=(10, 20), epochs=22.5, samples_per_epoch=59_675
    )
    regime = Regime(batch_size=10, began_epoch=0.0, epoch_s=62.9, gpus=1)
    for value in (adaptation, regime, Regime(batch_size=20, began_epoch=11.0)):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


@pytest.mark.parametrize(("unit", "scale"), [("epochs", 1), ("samples", 250), ("tokens", 250_000)])
def test_a_schedule_may_be_declared_in_epochs_samples_or_tokens(unit: str, scale: int) -> None:
    adaptation = declared(
        [(0.0, 16), (2.0 * scale, 32), (4.5 * scale, 64)],
        unit=Unit(unit),
        model="gpt",
        epochs=6.0,
        samples_per_epoch=250,
        tokens_per_sample=1_000,
    )
    assert adaptation.configurations == (16, 32, 64)
    assert adaptation.starts == pytest.approx((0.0, 2.0, 4.5))
