"""Wraps the user's optimizer: it steps at the last pass only, at the rate that the rule gives."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, final

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from headway.agent.job import MisuseError
from headway.agent.sharding import cut_like_parameters
from headway.core.model.lr import MOST_FORGETTING, LearningRateScale

UNSCALED = LearningRateScale()


class Turn(Protocol):
    """What the optimizer asks of the loop."""

    @property
    def last_pass(self) -> bool: ...

    def scale(self) -> LearningRateScale:
        """For the batch size of the present step."""
        ...


@final
class ScaledOptimizer(Optimizer):
    """An optimizer around another one; a learning-rate scheduler may be built on it.

    What a scheduler sets stays as it is set: the factor is applied for the length of a step.
    """

    def __init__(self, inner: Optimizer, turn: Turn) -> None:
        super().__init__(inner.param_groups, inner.defaults)
        self.inner = inner
        self._turn = turn
        self._may_zero = True
        self._made = False  # the step that ``stepped_by`` asked for
        self._unasked = False
        self._scaler_known = False
        self._share_state()

    def begin_pass(self, index: int) -> None:
        """Gradients of earlier passes of the step are kept, whenever the script would zero them."""
        self._may_zero = index == 0

    def let_step(self, *, unasked: bool) -> None:
        """Whether steps follow that are of one pass and unscaled, and so need ask nobody: of a
        step of a few milliseconds even this little is a hundredth."""
        self._unasked = unasked
        self._may_zero = self._may_zero or unasked

    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Step at the last pass of a step; before that, remember that gradients accumulate."""
        if self._unasked and closure is None:
            self._made = True
            self.inner.step()
            return
        if closure is not None:
            raise MisuseError("optimizer.step(closure): an optimizer with a closure cannot resize")
        self._may_zero = self._made = self._turn.last_pass
        if not self._made:
            return
        scale = self._turn.scale()
        if scale is UNSCALED or scale == UNSCALED:
            self.inner.step()
            return
        with _scaled(self.inner.param_groups, scale):
            self.inner.step()

    def stepped_by(self, scaler_step: Callable[[Optimizer], object]) -> bool:
        """Let a GradScaler step at a last pass: whether it did, for it skips what overflowed."""
        self._made, self._may_zero = False, True
        self._scaler_known = True
        try:
            scaler_step(self)
        finally:
            self._scaler_known = False
        return self._made

    @property
    def _step_supports_amp_scaling(self) -> bool:
        """Every GradScaler asks before it steps; one that the job does not know goes wrong."""
        if not self._scaler_known:
            raise MisuseError(
                "a GradScaler is not known to the job: scaler = job.scaler(GradScaler(...))"
            )
        return False

    # torch would wrap it for its profiler and for step hooks, as it does the inner one's already
    step.hooked = True  # type: ignore[attr-defined]

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Called when a step is really made."""
        return self.inner.register_step_pre_hook(hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Called when a step was really made."""
        return self.inner.register_step_post_hook(hook)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Zero the gradients unless they are still accumulating."""
        if self._may_zero:
            self.inner.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Called by the constructor too, where the groups are the inner optimizer's already."""
        if hasattr(self, "inner"):
            self.inner.add_param_group(param_group)
        else:
            self.param_groups.append(param_group)

    def state_dict(self) -> dict[str, Any]:
        return self.inner.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.inner.load_state_dict(cut_like_parameters(state_dict, self.inner))
        self._share_state()

    def _share_state(self) -> None:
        self.param_groups = self.inner.param_groups
        self.state = self.inner.state


@contextmanager
def _scaled(groups: list[dict[str, Any]], scale: LearningRateScale) -> Iterator[None]:
    """The groups with scaled rate, betas and epsilon, and exactly as they were afterwards."""
    kept = [{key: group[key] for key in ("lr", "betas", "eps") if key in group} for group in groups]
    for group in groups:
        group["lr"] = group["lr"] * scale.rate
        if scale.forgetting == 1.0:
            continue
        # on the device where the owner keeps them there, so that the host does not wait
        if "betas" in group:
            group["betas"] = tuple(_beta(beta, scale) for beta in group["betas"])
        if "betas" in group and "eps" in group:  # Lion has none
            group["eps"] = group["eps"] * scale.epsilon
    try:
        yield
    finally:
        for group, old in zip(groups, kept, strict=True):
            group.update(**old)


def _beta(beta: float | Tensor, scale: LearningRateScale) -> float | Tensor:
    if not isinstance(beta, Tensor):
        return scale.beta(beta)
    forgets = 1 - beta
    return 1 - torch.minimum(forgets * scale.forgetting, forgets.clamp(min=MOST_FORGETTING))
