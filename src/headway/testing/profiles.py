"""A profile that is simple enough to be reckoned by hand."""

from headway.core.types import BatchContract, BatchMode, ThroughputParams
from headway.traces.modelled import ModelledProfile

EXAMPLES_PER_S = 100.0  # of the toy on one GPU; it scales perfectly


def toy_profile(
    *,
    sync_s: float = 0.0,
    noise: float = 1e-9,
    last_noise: float | None = None,
    epochs: int = 4,
    max_gpus: int = 16,
) -> ModelledProfile:
    """100 examples a second and GPU; 12,000 examples of work, so 120 s on one GPU."""
    return ModelledProfile(
        name="toy",
        contract=BatchContract(
            initial_batch_size=32,
            max_batch_size=1024,
            min_batch_per_gpu=4,
            max_batch_per_gpu=64,
            mode=BatchMode.ADAPTIVE,
        ),
        max_gpus=max_gpus,
        work_examples=12_000.0,
        epochs=epochs,
        params=ThroughputParams(
            alpha_grad_s=0.0,
            beta_grad_s=1 / EXAMPLES_PER_S,
            alpha_local_s=sync_s,
            beta_local_s=0.0,
            alpha_node_s=sync_s,
            beta_node_s=0.0,
            gamma=1.0,
        ),
        noise_at_initial=(noise, noise if last_noise is None else last_noise),
        noise_at_largest=(noise, noise if last_noise is None else last_noise),
        fit_error=0.0,
    )
