"""Hooks on the parameters: they weigh each pass's gradient by its samples and measure its norm.

A hook sees the gradient of one pass before it is accumulated or reduced, and the user clips later,
so both are measured as they are. In a step that is not measured a hook does next to nothing.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from headway.agent.norms import Halves, Measured, Norms, added, untouched_rows
from headway.agent.owed import Owed
from headway.agent.plan import Pass, micro_batches
from headway.agent.precondition import Preconditioners
from headway.agent.previous import Previous
from headway.agent.sharding import (
    WholeGradients,
    check_hooked,
    is_sharded,
    local,
    own_part,
    shards,
)
from headway.agent.toll import toll


@final
class GradientProbe:
    """Watches the gradients of a job's models on one worker."""

    def __init__(self, workers: int) -> None:
        self.last_gradient_s = 0.0  # when the last gradient of this pass was ready
        self.toll = toll()  # what measuring took
        self._workers = workers
        self._watched: list[nn.Parameter] = []
        self._known: set[int] = set()  # which these are
        self._hooks: list[RemovableHandle] = []  # none in steps that need none: a call costs
        self._embeddings: set[int] = set()
        self._preconditioners = Preconditioners()
        self._weight = 1.0
        self._pass = Pass(0, 1, 0, 1, 0, 1)
        self._measuring = False
        self._chained = False  # the differenced estimator wants the next step too
        self._examples = 0.0
        self._seen: set[int] = set()
        self._backward = -1  # the backward pass at whose end the whole gradient is looked at
        self._norms = Norms(self._preconditioners)
        self._halves = Halves(self._norms)
        self._halved = False  # this step: two passes where one would do
        self._late = False  # its gradients are halved in the end, where they lie
        self._owed = Owed()
        self._small: list[Tensor] = []
        self._whole: tuple[Tensor, Tensor] | None = None  # squared norm, doubt
        self._spoiled = False
        self._previous = Previous()
        self._pending: list[Measured] = []
        self._sharded = False
        self._hooked: set[int] = set()  # sharded parameters whose whole gradients were seen
        self._passes_read = 0  # of this worker, in this step
        self._factor: Callable[[torch.device], Tensor] | None = None
        self._scale: Tensor | None = None  # of the loss, in the measured step

    def scaled_by(self, factor: Callable[[torch.device], Tensor]) -> None:
        """Gradients are so many times as large as they are: a GradScaler multiplies the loss."""
        self._factor = factor

    def watch_model(self, model: nn.Module) -> None:
        """Watch what is trainable in it, and know its embeddings."""
        tables = (m.weight for m in model.modules() if isinstance(m, _EMBEDDINGS))
        self._embeddings |= {id(table) for table in tables}
        self.watch(model.parameters())
        if is_sharded(model):
            indices = {id(parameter): index for index, parameter in enumerate(self._watched)}
            WholeGradients(model, lambda shard: self._on(indices[id(shard)]))
            self._sharded = True

    def watch(self, parameters: Iterable[nn.Parameter]) -> None:
        """Watch what is trainable and not watched yet."""
        for parameter in parameters:
            if parameter.requires_grad and id(parameter) not in self._known:
                self._watched.append(parameter)
                self._known.add(id(parameter))
        self._unhook()

    def watches(self, parameters: Iterable[nn.Parameter]) -> bool:
        """Whether all that are trainable are watched."""
        known = self._known
        return all(id(p) in known for p in parameters if p.requires_grad)

    def precondition_by(self, optimizer: Optimizer) -> None:
        """Measure the gradient as this optimizer sees it, where it rescales it (Adam)."""
        self._preconditioners.add(optimizer)
        optimizer.register_step_pre_hook(lambda *_: self._owed.settle())

    def begin_pass(self, one: Pass, *, measured: bool, chained: bool, examples: float) -> None:
        """``examples``: of training that a pair measured in this step will stand for."""
        self._pass = one
        # DDP averages over workers, so a worker's share of the step is scaled up by their number
        self._weight = self._workers * one.samples / one.step_size
        if one.index == 0:
            self._measuring, self._chained, self._examples = measured, chained, examples
            self._passes_read, self._halved = 0, one.halved and not self._sharded
            self._owed.settle()
            self._late = self._halved and measured and 2 * one.samples == one.step_size
            if measured:
                self._halves.clear()
                self._small, self._whole, self._spoiled = [], None, False
                self._preconditioners.refresh()
                self._rescale()
        self._passes_read += one.samples > 0
        if self._measuring:
            self._seen.clear()
            self._backward = -1
        if self._measuring or self._weight != 1.0 or self._workers > 1:
            self._hook()
        else:
            self._unhook()

    def rest(self) -> None:
        """Steps follow that a worker alone makes in one pass, and none of them is measured."""
        self._measuring, self._weight = False, 1.0
        self._unhook()

    def end_step(self) -> None:
        """Keep what was measured; every worker keeps as many, spoiled ones as NaN."""
        if not self._measuring or self._differences:
            return
        one = self._pass
        passes, small_size = micro_batches(one.step_size, self._workers, one.passes)
        lost = torch.full((), torch.nan, device=self._device)
        small = added(self._small, self._device)
        if self._sharded:  # each worker has measured its own part, in its own passes
            small = small * (passes / self._passes_read) if self._passes_read else lost
        whole = (lost, lost) if self._whole is None or self._spoiled else self._whole
        size = float(one.step_size)
        self._keep(Measured(small, *whole, passes, small_size, size, self._examples))

    def take(self) -> list[Measured]:
        """What was measured since this was last called."""
        taken, self._pending = self._pending, []
        return taken

    def enter(self, workers: int) -> None:
        """Be one of so many from now on; what was measured among others counts no more."""
        self._workers = workers
        self._pending = []
        self._unhook()
        self.forget_previous()

    def forget_previous(self) -> None:
        """The gradient kept for the differenced estimator is of another kind of step."""
        self._previous.forget()

    def _keep(self, one: Measured) -> None:
        if self._scale is not None:
            square = self._scale.square()
            one = replace(one, small=one.small / square, big=one.big / square)
        self._pending.append(one)

    def _rescale(self) -> None:
        """Bring the gradients that are kept to the present scale of the loss."""
        if self._factor is None:
            return
        before, self._scale = self._scale, self._factor(self._device)
        if before is not None:
            self._previous.rescale(self._scale / before)

    @property
    def _differences(self) -> bool:
        return self._workers == 1 and self._pass.passes == 1

    @property
    def _device(self) -> torch.device:
        return self._watched[0].device if self._watched else torch.device("cpu")

    def _hook(self) -> None:
        if not self._hooks:
            self._hooks = [
                parameter.register_hook(self._on(index))  # type: ignore[no-untyped-call]
                for index, parameter in enumerate(self._watched)
                if not is_sharded(parameter)
            ]

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _on(self, index: int) -> Callable[[Tensor], Tensor | None]:
        def on_gradient(gradient: Tensor) -> Tensor | None:
            if self._measuring:
                self._observe(index, gradient)
            if self._workers > 1:
                self.last_gradient_s = time.perf_counter()
            if self._weight == 1.0:
                return None
            if self._late and self._owed.takes(self._watched[index], gradient, self._pass.index):
                return None
            # not multiplied by zero: what an idle worker computes may not be finite
            return gradient * self._weight if self._weight else torch.zeros_like(gradient)

        return on_gradient

    def _observe(self, index: int, gradient: Tensor) -> None:
        self.toll.begin()
        if index in self._seen:
            self._spoiled = True  # several backward passes: no single one is the gradient
        elif self._pass.samples and not self._differences and not gradient.is_sparse:
            self._look(self._watched[index], gradient)
        self._seen.add(index)
        running = torch._C._current_graph_task_id()
        if self._pass.last and running != self._backward:
            self._backward = running
            _call_after_backward(self._whole_gradient, later=self._workers > 1)
        self.toll.end()

    def _look(self, parameter: nn.Parameter, gradient: Tensor) -> None:
        """The gradient of the first half lies where that of the second will be added to it."""
        if not self._halved:
            self._small.append(self._squared(parameter, gradient))
        elif self._pass.last:
            self._halves.add(parameter, gradient, parameter.grad, kept_as=self._kept_as(parameter))

    def _squared(self, parameter: nn.Parameter, gradient: Tensor) -> Tensor:
        """|P g|^2 of a pass. Of a sharded model each worker takes the part whose P it has: the
        gradients of all workers are alike, so the parts add up to what one would give."""
        if not self._sharded:
            return self._norms.squared(parameter, gradient)
        copies = self._workers / shards(parameter)
        return self._norms.squared(parameter, own_part(parameter, gradient)) / copies

    def _whole_gradient(self) -> None:
        """After backward, and after DDP has reduced: nobody has clipped yet."""
        self.toll.begin()
        if self._sharded:
            self._hooked |= self._seen
            check_hooked(self._watched, self._hooked)
        gradients = [(p, local(p.grad)) for p in self._watched if p.grad is not None]
        dense = [(p, gradient) for p, gradient in gradients if not gradient.is_sparse]
        if self._differences:
            self._difference(dense, partly=len(dense) < len(gradients))
        elif dense:
            whole = self._both_halves() if self._halved else self._of_all(dense)
            self._whole = whole, self._doubt(dense, partly=len(dense) < len(gradients))
        self._owed.settle()
        self.toll.end()

    def _kept_as(self, parameter: nn.Parameter) -> float:
        """What the gradient of the first half has been multiplied by."""
        return 1.0 if self._owed.has(parameter) else 1.0 - self._weight

    def _of_all(self, dense: list[tuple[nn.Parameter, Tensor]]) -> Tensor:
        norms = [self._norms.squared(*one) * shards(one[0]) for one in dense]
        return added(norms, self._device)

    def _both_halves(self) -> Tensor:
        """What the second half gives no gradient keeps that of the first, for all that is known."""
        unseen = [p for index, p in enumerate(self._watched) if index not in self._seen]
        lying = [(p, p.grad) for p in unseen if p.grad is not None and not p.grad.is_sparse]
        alone = [(p, gradient, self._kept_as(p)) for p, gradient in lying]
        small, whole = self._halves.read(self._device, share=self._weight, alone=alone)
        self._small = [small]
        return whole

    def _difference(self, dense: list[tuple[nn.Parameter, Tensor]], *, partly: bool) -> None:
        """The differenced estimator: two steps of M examples as halves of one of 2 M."""
        size = self._pass.step_size
        if (kept := self._previous.of(size, dense)) is not None:
            self._halves.clear()
            for parameter, new in dense:
                self._halves.add(parameter, new, kept[id(parameter)], kept_as=1.0)
            small, big = self._halves.read(self._device, share=0.5)
            if not self._spoiled:
                doubt = self._doubt(dense, partly=partly)
                both = 2.0 * size
                self._keep(Measured(small, big, doubt, 2, size, both, self._examples))
        self._previous.keep(size, dense if self._chained else ())

    def _doubt(self, dense: list[tuple[nn.Parameter, Tensor]], *, partly: bool) -> Tensor:
        """Why phi should not be relied upon, from 0 to 1; see ``Measured``."""
        if partly or self._preconditioners.unknown:
            return torch.ones((), device=self._device)
        tables = [gradient for p, gradient in dense if id(p) in self._embeddings]
        return untouched_rows(tables, self._device)


_EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)


def _call_after_backward(callback: Callable[[], None], *, later: bool) -> None:
    """When the running backward pass is complete; ``later``: after DDP's own callback, which it
    queues when its last bucket is ready and so after this one."""
    queue = torch.autograd.Variable._execution_engine.queue_callback
    queue(lambda: queue(callback) if later else callback())
