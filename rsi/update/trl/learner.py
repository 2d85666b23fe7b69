"""TRL's GRPO trainer fitted to sampled groups. The one file that uses TRL's private names (pinned to trl 1.16.0).

It changes what a batch holds, never the loss: one group is one micro-batch, rows without advantage are taken out before
the forward pass, the sampler's log-probabilities are the old ones, and a group's prompt is computed once.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from trl import GRPOTrainer

from rsi.update.trl.packing import packed_log_probs


class Learner(GRPOTrainer):  # type: ignore[misc]
    """Rows arrive in groups of `num_generations`; `per_device_train_batch_size` must equal it.

    A step none of whose rows has an advantage gives no parameter a gradient (`None`, not zero), so the optimizer leaves
    weights, momentum and decay alone."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._log_probs = torch.empty(0)
        self.gaps: list[tuple[float, float]] = []  # sum of |sampler - learner| and tokens, a micro-batch each

    def gap(self) -> float | None:
        """Mean |sampler - learner| a sampled token since the last call, in nats; None where no token was seen."""
        total, tokens = (sum(column) for column in zip(*self.gaps, strict=True)) if self.gaps else (0.0, 0.0)
        self.gaps.clear()
        return total / tokens if tokens else None

    def note(self, name: str, value: float) -> None:
        """Put a figure into the current step's log."""
        self._metrics["train"][name].append(value)

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Tensor]:
        """As TRL's, without its shuffle over the step's rows: groups stay together, and packing needs them so."""
        slices = self.args.steps_per_generation
        if self._step % slices == 0:
            self._buffered_inputs = self._generate_and_score_completions(generation_batch)
        size, place = self.num_generations, self._step % slices
        return _rows(self._buffered_inputs, lambda value: value[place * size : (place + 1) * size])

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Tensor], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Tensor:
        learns = inputs["advantages"] != 0  # padding, unscored and filtered rows have exactly 0
        if not learns.any():
            return torch.zeros((), device=learns.device, requires_grad=True)
        rows = _rows(inputs, lambda value: value[learns])
        rows["old_per_token_logps"] = rows["sampling_per_token_logps"]
        loss: Tensor = super().compute_loss(model, rows, return_outputs)
        mask = rows["completion_mask"] * rows["tool_mask"]
        distance = ((self._log_probs - rows["sampling_per_token_logps"]).abs() * mask).sum()
        self.gaps.append((float(distance), float(mask.sum())))
        return loss

    def _get_per_token_logps_and_entropies(
        self, model: nn.Module, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, **unused: Any
    ) -> tuple[Tensor, Tensor, None]:
        """Log-probabilities and entropies (rows, `logits_to_keep`), 0 at padding; rows of one prompt are packed."""
        prompts, completions = input_ids[:, :-logits_to_keep], input_ids[:, -logits_to_keep:]
        seen, wanted = attention_mask[:, :-logits_to_keep].bool(), attention_mask[:, -logits_to_keep:].bool()
        log_probs = torch.zeros(wanted.shape, device=input_ids.device)
        entropies = torch.zeros_like(log_probs)
        packs: dict[tuple[int, ...], list[int]] = {}
        for row in range(len(input_ids)):
            packs.setdefault(tuple(prompts[row][seen[row]].tolist()), []).append(row)
        for rows in packs.values():
            ragged = [completions[row][wanted[row]] for row in rows]
            found, entropy = packed_log_probs(model, prompts[rows[0]][seen[rows[0]]], ragged)
            target = torch.zeros_like(wanted)
            target[rows] = wanted[rows]
            log_probs = log_probs.masked_scatter(target, found)
            entropies = entropies.masked_scatter(target, entropy)
        self._log_probs = log_probs.detach()
        return log_probs, entropies, None


def _rows(batch: Mapping[str, Tensor], choose: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """`choose` applied to every tensor that has rows; scalars stay."""
    return {key: choose(value) if value.ndim else value for key, value in batch.items()}
