"""Plans and regimes are values that a log can hold."""

import msgspec

from headway.core.plans import BatchPlan, Regime


def test_a_plan_and_its_regimes_survive_json() -> None:
    plan = BatchPlan(
        rule="gns", model="LM", configurations=(10, 20), epochs=22.5, samples_per_epoch=59_675
    )
    regime = Regime(batch_size=10, began_epoch=0.0, epoch_s=62.9, gpus=1)
    for value in (plan, regime, Regime(batch_size=20, began_epoch=11.0)):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value
