"""The LoRA adapters of one base: loaded once a name, the least recently used dropped, applied to a batch.

Knows PEFT and folders named by content; knows no requests. Called from the engine's thread alone, so nothing is sampled
while an adapter is loading.
"""

import re
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rsi.errors import InfrastructureError, UserError, reason
from rsi.models.embedded.decode import BASE
from rsi.update.adapters import open_revision

CONTENT_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")  # no dots, no separators: it becomes a path and a module name


class AdapterShelf:
    """Adapters of `model`, from `root`/<name>, at most `bound` of them in memory."""

    def __init__(self, model: Any, root: Path | None, bound: int) -> None:
        self._model, self._root, self._bound = model, root, bound
        self._loaded: OrderedDict[str, None] = OrderedDict()

    def load(self, name: str, needed: Collection[str] = ()) -> None:
        """Have `name` in memory; `needed` names are not dropped for it. Raises UserError for one that is not there,
        IntegrityError for one whose content is not what its name says."""
        if name not in self._loaded:
            self._read(name)
        self._loaded[name] = None
        self._loaded.move_to_end(name)
        spare = [held for held in self._loaded if held != name and held not in needed]
        for old in spare[: max(0, len(self._loaded) - self._bound)]:
            self._drop(old)
            del self._loaded[old]

    @contextmanager
    def applied(self, names: Collection[str]) -> Iterator[Any]:
        """The model as a batch under `names` (loaded ones or BASE) must call it.

        One adapter for all rows needs no sorting of rows inside each layer, and base rows alone no adapter at all."""
        if not self._loaded:
            yield self._model
        elif set(names) == {BASE}:
            with self._model.disable_adapter():
                yield self._model
        else:
            if len(set(names)) == 1:
                self._model.set_adapter(next(iter(names)))
            yield self._model

    def _read(self, name: str) -> None:
        import torch
        from peft import PeftConfig, PeftModel

        folder = (self._root or Path()) / name
        if self._root is None or not CONTENT_NAME.fullmatch(name) or not (folder / "adapter_config.json").is_file():
            raise UserError(f"adapter '{name[:80]}': no such adapter under {self._root}; publish it first")
        open_revision(self._root, name)
        try:
            if not isinstance(self._model, PeftModel):
                self._model = PeftModel(self._model, PeftConfig.from_pretrained(folder), adapter_name=name)
            found = self._model.load_adapter(folder, adapter_name=name, is_trainable=False)
            if found.unexpected_keys:
                raise ValueError(f"it holds {found.unexpected_keys[0]}, which this base has not")
            if found.missing_keys:
                raise ValueError(f"it lacks {found.missing_keys[0]}")
            if wrong := [key for key, value in self._tensors(name) if not torch.isfinite(value).all()]:
                raise ValueError(f"{wrong[0]} holds what is no number")
        except Exception as error:  # noqa: BLE001 files from elsewhere, read by several libraries
            self._drop(name)
            if isinstance(error, MemoryError | torch.OutOfMemoryError):
                raise InfrastructureError(f"adapter '{name}': no memory to load it ({reason(error)})") from None
            raise UserError(f"adapter '{name}': {folder} cannot be loaded on this base ({reason(error)})") from None
        self._model.eval()

    def _tensors(self, name: str) -> Iterator[tuple[str, Any]]:
        return ((key, value) for key, value in self._model.named_parameters() if name in key.split("."))

    def _drop(self, name: str) -> None:
        """Take `name` out of the module, and all of PEFT with the last one. Nothing of a failed load stays."""
        from peft.tuners.tuners_utils import BaseTunerLayer

        held = getattr(self._model, "peft_config", {})
        if not set(held) - {name}:  # also where PEFT gave up half-way, and has wrapped some layers of a bare module
            self._model = self._model.unload() if held else self._model
            for key, layer in list(self._model.named_modules()):
                if isinstance(layer, BaseTunerLayer):
                    self._model.set_submodule(key, layer.get_base_layer())
        elif name in held:
            self._model.delete_adapter(name)
