"""One training run inside its own process: model and adapter, TRL's loop, checkpoints, canary, export.

Knows neither harness, sandbox nor verifier: the rollout closes over them. The learner's own module is the sampler.
"""

import logging
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from pydantic import ValidationError
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback, set_seed
from trl import GRPOConfig

from rsi.errors import NothingLearned, TrainingError
from rsi.ports import Rollout
from rsi.types import AdapterRevision, Message, TrainSpec
from rsi.update.adapters import open_revision, publish
from rsi.update.trl.groups import GroupSource, Ledger
from rsi.update.trl.learner import Learner
from rsi.update.trl.sampler import BackendFactory, Sampler
from rsi.weights import check_content

Progress = Callable[[str, int, int], None]

_WHOLE = "whole"  # marks a checkpoint whose files are all written
_DONE = "revision.json"  # the exported revision
# What a revision keeps of TRL's log, one mapping a step: their name -> ours.
_LOGGED = {"loss": "loss", "grad_norm": "grad_norm", "entropy": "entropy", "step_time": "seconds"}
_OWN = ("reward_mean", "pass_rate", "samples", "submitted", "accepted", "filtered", "failed", "rollout_seconds")


def train(
    spec: TrainSpec, rollout: Rollout, make_backend: BackendFactory, ledger: Ledger, progress: Progress
) -> AdapterRevision:
    """Train to the end from the last whole checkpoint, and export. A run that has exported returns its revision.

    Raises TrainingError (sampler and learner disagree, adapter without effect), NothingLearned, IntegrityError."""
    workdir, out = Path(spec.workdir), Path(spec.out)
    if (exported := _exported(workdir, out)) is not None:
        return exported
    torch.set_num_threads(spec.threads)
    logging.getLogger("trl").setLevel(logging.ERROR)  # it would print every unscored row
    tokenizer = AutoTokenizer.from_pretrained(spec.base)
    model = _specialist(spec)
    guard, sampler = _Guard(spec, progress), Sampler(GroupSource(spec, rollout, ledger), spec, make_backend)
    learner = Learner(
        model=model,
        reward_funcs=sampler.rewards,
        rollout_func=sampler.roll,
        args=_arguments(spec, model),
        train_dataset=Dataset.from_dict({"prompt": ["-"] * (spec.settings.prompts_per_step * spec.settings.steps)}),
        processing_class=tokenizer,
        callbacks=[guard],
    )
    learner.remove_callback(PrinterCallback)
    guard.learner = learner
    try:
        learner.train(resume_from_checkpoint=_last_checkpoint(workdir))
    finally:
        sampler.close()
    metrics = _metrics(learner.state.log_history)
    if not sum(step["accepted"] for step in metrics):
        raise NothingLearned(f"none of {len(metrics)} steps had an informative group")
    export = workdir / "export"
    model.save_pretrained(export)
    _check_canary(model, tokenizer, spec.canary, export)
    revision = publish(export, out, spec.parent_revision, spec.settings.steps, metrics)
    # Equal weights of another run may have stood there already, with that run's figures; these are this run's.
    own = {"parent": spec.parent_revision, "steps": spec.settings.steps, "metrics": tuple(metrics)}
    revision = revision.model_copy(update=own)
    (workdir / _DONE).write_text(revision.model_dump_json(), encoding="utf8")
    for spent in (export, *workdir.glob("checkpoint-*")):
        shutil.rmtree(spent, ignore_errors=True)
    return revision


def _exported(workdir: Path, out: Path) -> AdapterRevision | None:
    """What this run has exported, verified; None where it has not, or the revision was removed since."""
    try:
        revision = AdapterRevision.model_validate_json((workdir / _DONE).read_text(encoding="utf8"))
    except (FileNotFoundError, ValidationError):  # a torn file is owed again
        return None
    return revision if (out / revision.name).is_dir() and open_revision(out, revision.name) else None


def _specialist(spec: TrainSpec) -> PeftModel:
    """The frozen base with a trainable adapter: the parent's, or a fresh one (which changes nothing yet)."""
    check_content(Path(spec.base), spec.base_digest)
    if spec.parent is not None:
        open_revision(Path(spec.parent).parent, Path(spec.parent).name)
    set_seed(spec.settings.seed)
    base = AutoModelForCausalLM.from_pretrained(spec.base, dtype=getattr(torch, spec.dtype))
    base.to("cuda" if _on_cuda(spec) else "cpu")
    if spec.parent is not None:
        return PeftModel.from_pretrained(base, spec.parent, is_trainable=True)
    shape = {"r": spec.settings.rank, "lora_alpha": spec.settings.alpha, "target_modules": "all-linear"}
    return get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.0, **shape))


def _on_cuda(spec: TrainSpec) -> bool:
    return spec.device == "cuda" or (spec.device == "auto" and torch.cuda.is_available())


def _arguments(spec: TrainSpec, model: PeftModel) -> GRPOConfig:
    settings = spec.settings
    return GRPOConfig(
        output_dir=spec.workdir,
        use_cpu=not _on_cuda(spec),
        bf16=False,  # the weights have their dtype already; no autocast
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        report_to="none",
        disable_tqdm=True,
        max_steps=settings.steps,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant",
        per_device_train_batch_size=settings.group_size,
        num_generations=settings.group_size,
        gradient_accumulation_steps=settings.prompts_per_step,
        steps_per_generation=settings.prompts_per_step,
        temperature=spec.temperature,
        beta=0.0,
        shuffle_dataset=False,
        seed=settings.seed,
        logging_steps=1,
        save_strategy="steps",
        save_steps=1,
        save_total_limit=2,  # the last whole one stays while the next is written
    )


class _Guard(TrainerCallback):  # type: ignore[misc]
    """Refuses a first update whose sampler and learner disagree; marks checkpoints whole; reports progress."""

    def __init__(self, spec: TrainSpec, progress: Progress) -> None:
        self._spec = spec
        self._progress = progress
        self._compared = False
        self.learner: Learner

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        gap, bound = self.learner.gap(), self._spec.settings.max_logprob_gap
        if gap is None:
            return
        self.learner.note("logprob_gap", gap)
        if not self._compared and not gap <= bound:  # a NaN is refused too
            raise TrainingError(
                f"sampler and learner disagree by {gap:.4f} nats a token before the first step (at most {bound}): "
                "sample at the run's temperature with the learner's dtype, or raise update.max_logprob_gap"
            )
        self._compared = True

    def on_save(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        (Path(self._spec.workdir) / f"checkpoint-{state.global_step}" / _WHOLE).touch()
        self._progress("training", state.global_step, self._spec.settings.steps)


def _last_checkpoint(workdir: Path) -> str | None:
    """The newest whole checkpoint; torn ones are removed."""
    whole: list[tuple[int, Path]] = []
    for folder in workdir.glob("checkpoint-*"):
        if (folder / _WHOLE).is_file():
            whole.append((int(folder.name.rpartition("-")[2]), folder))
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return os.fspath(max(whole)[1]) if whole else None


def _metrics(history: list[dict[str, Any]]) -> list[Mapping[str, float]]:
    """One mapping a step: TRL's log under our names, without what it could not compute (None)."""
    names = _LOGGED | {name: name for name in (*_OWN, "logprob_gap")}
    return [
        {ours: float(entry[theirs]) for theirs, ours in names.items() if entry.get(theirs) is not None}
        for entry in history
        if "submitted" in entry
    ]


def _check_canary(model: PeftModel, tokenizer: Any, canary: tuple[Message, ...], export: Path) -> None:
    """TrainingError unless the exported adapter, loaded anew, answers as the trained one and not as the base."""
    messages = [message.model_dump() for message in canary]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids.to(model.device)
    trained = _log_probs(model, ids)
    with model.disable_adapter():
        base = _log_probs(model, ids)
    model.load_adapter(os.fspath(export), adapter_name="exported")
    model.set_adapter("exported")
    exported = _log_probs(model, ids)
    if not torch.equal(exported, trained):
        raise TrainingError("the exported adapter does not answer the canary as the trained one; it was not exported")
    if torch.equal(exported, base):
        raise TrainingError("the canary's log-probabilities equal the base's: the adapter has no effect; not exported")


def _log_probs(model: nn.Module, ids: Tensor) -> Tensor:
    """Next-token log-probabilities after the last token: (vocabulary,)."""
    model.eval()
    with torch.no_grad():
        logits: Tensor = model(input_ids=ids).logits[0, -1]
    return logits.float().log_softmax(-1)
