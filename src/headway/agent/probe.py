"""Hooks on the parameters: they weigh each pass's gradient by its samples and measure its norm.

A hook sees the gradient of one pass before it is accumulated or reduced, and the user clips later,
so both are measured as they are. In a step that is not measured a hook does next to nothing.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from headway.agent.noise import Pair
from headway.agent.plan import Pass, micro_batches

RARE = 0.1  # of the root mean square of sqrt(v) in a tensor
_SETTLED_STEPS = 10  # before that Adam's second moment is no preconditioner


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured step: sums of squared norms, still on the device, and the sizes they are at."""

    small: Tensor  # this worker's sum over the passes that read samples
    big: Tensor
    passes: int  # over all workers
    small_size: float
    big_size: float
    examples: float  # of training that it stands for

    def pair(self, small: float, big: float) -> Pair:
        """With ``small`` summed over all workers."""
        return Pair(
            small_squared=small / self.passes,
            small_size=self.small_size,
            big_squared=big,
            big_size=self.big_size,
        )


@final
class GradientProbe:
    """Watches the gradients of a job's models on one worker."""

    def __init__(self, workers: int) -> None:
        self.last_gradient_s = 0.0  # when the last gradient of this pass was ready
        self.cost_s = 0.0  # that measuring took in the present step
        self._workers = workers
        self._watched: list[nn.Parameter] = []
        self._optimizers: list[Optimizer] = []
        self._weight = 1.0
        self._pass = Pass(0, 1, 0, 1, 0, 1)
        self._measuring = False
        self._chained = False  # the differenced estimator wants the next step too
        self._examples = 0.0
        self._seen: set[int] = set()
        self._small: list[Tensor] = []
        self._big: Tensor | None = None
        self._spoiled = False
        self._previous: tuple[int, list[Tensor]] | None = None
        self._steps: dict[nn.Parameter, Tensor] = {}
        self._pending: list[Measured] = []

    def watch(self, parameters: Iterable[nn.Parameter]) -> None:
        """Hook what is trainable and not hooked yet."""
        known = {id(parameter) for parameter in self._watched}
        for parameter in parameters:
            if parameter.requires_grad and id(parameter) not in known:
                parameter.register_hook(self._hook(len(self._watched)))  # type: ignore[no-untyped-call]
                self._watched.append(parameter)

    def precondition_by(self, optimizer: Optimizer) -> None:
        """Measure the gradient as this optimizer sees it, where it rescales it (Adam)."""
        self._optimizers.append(optimizer)

    def begin_pass(self, one: Pass, *, measured: bool, chained: bool, examples: float) -> None:
        """``examples``: of training that a pair measured in this step will stand for."""
        self._pass = one
        # DDP averages over workers, so a worker's share of the step is scaled up by their number
        self._weight = self._workers * one.samples / one.step_size
        self._seen.clear()
        if one.index == 0:
            self._measuring, self._chained, self._examples = measured, chained, examples
            self.cost_s = 0.0
            self._small, self._big, self._spoiled = [], None, False
            self._steps = {}

    def end_step(self) -> None:
        """Keep what was measured; every worker keeps as many, spoiled ones as NaN."""
        if not self._measuring:
            return
        if self._differences:
            return
        one = self._pass
        passes, small_size = micro_batches(one.step_size, self._workers, one.passes)
        small = torch.stack(self._small).sum() if self._small else torch.zeros(())
        big = self._big
        if big is None or self._spoiled:
            small, big = torch.full((), float("nan")), torch.full((), float("nan"))
        size = float(one.step_size)
        self._pending.append(Measured(small, big, passes, small_size, size, self._examples))

    def take(self) -> list[Measured]:
        """What was measured since this was last called."""
        taken, self._pending = self._pending, []
        return taken

    def forget_previous(self) -> None:
        """The gradient kept for the differenced estimator is of another kind of step."""
        self._previous = None

    @property
    def _differences(self) -> bool:
        return self._workers == 1 and self._pass.passes == 1

    def _hook(self, index: int) -> Callable[[Tensor], Tensor | None]:
        def on_gradient(gradient: Tensor) -> Tensor | None:
            if self._measuring:
                self._observe(index, gradient)
            self.last_gradient_s = time.perf_counter()
            if self._weight == 1.0:
                return None
            # not multiplied by zero: what an idle worker computes may not be finite
            return gradient * self._weight if self._weight else torch.zeros_like(gradient)

        return on_gradient

    def _observe(self, index: int, gradient: Tensor) -> None:
        began_s = time.perf_counter()
        if index in self._seen or gradient.is_sparse:
            self._spoiled = True  # several backward passes: no single one is the gradient
        elif self._pass.samples and not self._differences:
            self._small.append(self._squared([gradient], [self._watched[index]]))
        if not self._seen and self._pass.last:
            _call_after_backward(self._whole_gradient, later=self._workers > 1)
        self._seen.add(index)
        self.cost_s += time.perf_counter() - began_s

    def _whole_gradient(self) -> None:
        """After backward, and after DDP has reduced: nobody has clipped yet."""
        began_s = time.perf_counter()
        having = [p for p in self._watched if p.grad is not None]
        gradients = [p.grad for p in having if p.grad is not None]
        if self._differences:
            self._difference(gradients, having)
        elif gradients:
            self._big = self._squared(gradients, having)
        self.cost_s += time.perf_counter() - began_s

    def _difference(self, gradients: list[Tensor], having: list[nn.Parameter]) -> None:
        """The differenced estimator: two steps of M examples as halves of one of 2 M."""
        size, previous = self._pass.step_size, self._previous
        if previous is not None and previous[0] == size and len(previous[1]) == len(gradients):
            small = self._squared(gradients, having) + self._squared(previous[1], having)
            both = [(new + old) / 2 for new, old in zip(gradients, previous[1], strict=True)]
            big = self._squared(both, having)
            if not self._spoiled:
                measured = Measured(small, big, 2, size, 2.0 * size, self._examples)
                self._pending.append(measured)
        kept = [gradient.detach().clone() for gradient in gradients] if self._chained else []
        self._previous = (size, kept) if kept else None

    def _squared(self, gradients: list[Tensor], having: list[nn.Parameter]) -> Tensor:
        """|P g|^2 in single precision; NaN where P is not known yet."""
        rescaled = [
            gradient.detach().float() / self._scale(parameter)
            for gradient, parameter in zip(gradients, having, strict=True)
        ]
        return nn.utils.get_total_norm(rescaled).square()

    def _scale(self, parameter: nn.Parameter) -> Tensor:
        scale = self._steps.get(parameter)
        if scale is None:
            scale = self._steps[parameter] = _adam_scale(parameter, self._optimizers)
        return scale


def _adam_scale(parameter: nn.Parameter, optimizers: list[Optimizer]) -> Tensor:
    """sqrt(v) + eps where an optimizer keeps a second moment, else 1; NaN while it is young.

    Floored at a share of its tensor's own size: in rows that are hardly ever touched (of an
    embedding) v is next to nothing, and a single gradient there would outweigh all others.
    """
    for optimizer in optimizers:
        state = optimizer.state.get(parameter, {})
        if "exp_avg_sq" not in state:
            continue
        group = next(g for g in optimizer.param_groups if _contains(g["params"], parameter))
        steps = float(state.get("step", _SETTLED_STEPS))
        if steps < _SETTLED_STEPS:
            return torch.full((), float("nan"))
        unbiased = 1 - group["betas"][1] ** steps
        root: Tensor = (state["exp_avg_sq"].float() / unbiased).sqrt()
        floored: Tensor = torch.maximum(root, RARE * root.square().mean().sqrt()) + group["eps"]
        return floored
    return torch.ones(())


def _contains(parameters: list[Tensor], parameter: Tensor) -> bool:
    return any(one is parameter for one in parameters)


def _call_after_backward(callback: Callable[[], None], *, later: bool) -> None:
    """When the running backward pass is complete; ``later``: after DDP's own callback, which it
    queues when its last bucket is ready and so after this one."""
    queue = torch.autograd.Variable._execution_engine.queue_callback
    queue(lambda: queue(callback) if later else callback())
