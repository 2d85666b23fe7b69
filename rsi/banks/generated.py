"""A bank whose tasks come from generators. It keeps the splits apart by content: a keyed hash of each file's content
(of the literals, where there are no files) says whether an instance may be sealed or open, so that no open task, made
whenever, shares content with a sealed one of any shard."""

import hashlib
import hmac
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

from rsi.banks.code import CODE
from rsi.banks.definition import BankDefinition, load_definition
from rsi.banks.elsewhere import Elsewhere, find_code
from rsi.banks.instance import Generator, Instance, Table, trivial
from rsi.banks.listed import FILES, NAME, load_listing
from rsi.banks.near import contents
from rsi.banks.reason import REASON
from rsi.banks.salt import salt_digest
from rsi.banks.shell import SHELL
from rsi.banks.talk import TALK
from rsi.banks.ui import UI
from rsi.errors import UserError
from rsi.files import read_text
from rsi.ids import canonical, digest, digest_file, digest_tree, seed_of
from rsi.ports import SandboxProvider
from rsi.types import OpenTask, Recipe, Split, Task, TaskKey

TABLES: Mapping[str, Table] = {"shell": SHELL, "reason": REASON, "talk": TALK, "code": CODE, "ui": UI}
SEALED_SHARE, SELECTION_SHARE = 0.4, 0.4  # of contents; of what is open
TRIES = 2000  # drafts until one falls into the wanted split
REPEATS = 60  # drafts in a row that were there before: the family has no more


class GeneratedBank:
    """Implements ports.TaskBank. The same definition, generators and salt give the same tasks."""

    def __init__(
        self,
        definition: BankDefinition,
        salt: bytes,
        table: Mapping[str, Generator],
        code: Sequence[str],
        region: Callable[[Instance], Split | None] | None = None,
    ) -> None:
        """`table` holds every family of the definition; `code` are digests of what makes its instances. `region`, where
        given, says which split an instance belongs to, instead of its content."""
        self.definition = definition
        self.salt_digest = salt_digest(salt)
        self._salt = salt
        self._table = table
        self._region = region or self._content_region
        self._digest = digest([definition, code])
        self._split = lru_cache(maxsize=16)(self._make_split)

    @property
    def digest(self) -> str:
        """Of the definition and the generators; the salt is not in it."""
        return self._digest

    @property
    def open_families(self) -> tuple[str, ...]:
        return tuple(name for name, family in self.definition.families.items() if family.role == "train")

    def levels(self, family: str) -> Sequence[int]:
        """Those that a family has; of a generator from elsewhere those that it has been asked for."""
        low, high = self.definition.families[family].difficulty
        if self.definition.elsewhere:
            splits = self.definition.splits
            asked = (*splits.train.difficulties, *splits.selection.difficulties, *splits.sealed.difficulties)
            return sorted({min(max(level, low), high) for level in asked})
        return range(low, high + 1)

    def tasks(self, split: Split, shard: int = 0) -> Sequence[Task]:
        """Interleaved by family, so that any prefix (of the open or the held-out ones too) is balanced over families.

        `shard` counts for sealed tasks only: later shards repeat a task only where a family has no other."""
        return self._split(split, shard if split == "sealed" else 0)

    def key(self, task: Task) -> TaskKey:
        """The reference and checks, made again from recipe and instance. What of the task is not as the bank makes it
        (its request, its files, anything) is refused: the key would be of another task."""
        known = self.definition.families.get(task.recipe.family)
        if task.bank != self.definition.name or known is None:
            raise UserError(f"task {task.id} is not of bank '{self.definition.name}'; open the bank it came from")
        low, high = known.difficulty
        if not low <= task.recipe.difficulty <= high:
            raise UserError(f"task {task.id} is not of bank '{self.definition.name}': its 'recipe' was changed")
        instance = self._draft(task.recipe, task.instance, task.split)
        if instance is None or self._id(task.recipe.family, instance) != task.id:
            raise UserError(
                f"task {task.id} was made by another version of bank '{self.definition.name}' or another salt"
            )
        made = self._fields(task.recipe, task.instance, task.split, instance)
        if changed := [name for name, value in made.items() if getattr(task, name) != value]:
            raise UserError(
                f"task {task.id} is not of bank '{self.definition.name}': its '{changed[0]}' was changed; take the "
                "task as the bank gives it"
            )
        return TaskKey(
            task_id=task.id,
            reference=instance.reference,
            checks=instance.checks,
            turn_checks=instance.turn_checks,
            pass_share=instance.pass_share,
            problem=instance.problem,
        )

    def make(self, recipe: Recipe, seed: int, split: Split) -> OpenTask:
        family = self.definition.families.get(recipe.family)
        if family is None or family.role == "held_out":
            raise UserError(f"bank '{self.definition.name}' has no open family '{recipe.family}'")
        if not family.difficulty[0] <= recipe.difficulty <= family.difficulty[1]:
            low, high = family.difficulty
            raise UserError(f"family '{recipe.family}' has difficulties {low} to {high}, not {recipe.difficulty}")
        if split == "sealed":
            raise UserError("sealed tasks cannot be made; they come from the home's salt")
        instance = self._draft(recipe, seed, split)
        if instance is None:
            raise UserError(f"family '{recipe.family}' has no instance for split '{split}' at {recipe.difficulty}")
        return OpenTask.model_validate(self._fields(recipe, seed, split, instance))

    def drafts(self, families: Sequence[str], level: int, n: int) -> list[Instance]:
        """About `n` different instances of the families together, whatever their split: to measure, not to be played.
        Fewer where there are no more."""
        rng, made = random.Random(seed_of("drafts", *families, level)), dict[str, Instance]()
        for draw in range(2 * n):
            name = families[draw % len(families)]
            instance = self._table[name](rng, level)
            if not instance.problem and not trivial(instance):
                made.setdefault(self._id(name, instance), instance)
            if len(made) >= n:
                break
        return list(made.values())

    def _make_split(self, split: Split, shard: int) -> tuple[Task, ...]:
        names = [n for n, f in self.definition.families.items() if split == "sealed" or f.role == "train"]
        random.Random(self._seed(split, "order", shard)).shuffle(names)
        rounds = zip_longest(*(self._of_family(name, split, shard) for name in names))
        return tuple(task for row in rounds for task in row if task is not None)

    def _of_family(self, name: str, split: Split, shard: int) -> list[Task]:
        """The family's part of a split: shard s takes the s-th slice of its stream of different instances."""
        settings, family = getattr(self.definition.splits, split), self.definition.families[name]
        low, high = family.difficulty
        levels = [min(max(level, low), high) for level in settings.difficulties]
        made: list[Task] = []
        streams = {level: self._stream(Recipe(family=name, difficulty=level), split) for level in set(levels)}
        for n in range(settings.instances * (shard + 1)):
            task = next(streams[levels[n % len(levels)]], None)
            if task is not None:
                made.append(task)
        start = min(settings.instances * shard, max(0, len(made) - settings.instances))
        return made[start : start + settings.instances]

    def _stream(self, recipe: Recipe, split: Split) -> Iterator[Task]:
        """Different instances of a recipe, in a fixed order, until the family seems to have no more."""
        seen: set[str] = set()
        n = repeats = 0
        kind = Task if split == "sealed" else OpenTask
        while repeats < REPEATS:
            seed = self._seed(split, recipe.family, recipe.difficulty, n)
            instance, n = self._draft(recipe, seed, split), n + 1
            if instance is None:
                return
            task = kind.model_validate(self._fields(recipe, seed, split, instance))
            repeats = repeats + 1 if task.id in seen else 0
            if task.id not in seen:
                seen.add(task.id)
                yield task

    def _draft(self, recipe: Recipe, seed: int, split: Split) -> Instance | None:
        """The first instance from `seed` whose content belongs to `split`; None where there seems to be none."""
        rng = random.Random(seed_of(recipe, seed))  # equal seeds give families nothing in common
        for _ in range(TRIES):
            instance = self._table[recipe.family](rng, recipe.difficulty)
            if not trivial(instance) and self._region(instance) == split:
                return instance
        return None

    def _content_region(self, instance: Instance) -> Split | None:
        """Where the instance's content belongs; None where some of its contents are sealed and some open."""
        parts = contents(instance.asked, instance.files, instance.setup)
        sealed = {_share(hmac.digest(self._salt, part.encode(), "sha256")) < SEALED_SHARE for part in parts}
        if len(sealed) > 1:
            return None
        if sealed == {True}:
            return "sealed"
        selection = _share(hashlib.sha256(canonical(parts)).digest()) < SELECTION_SHARE
        return "selection" if selection else "train"

    def _seed(self, split: Split, *parts: object) -> int:
        if split != "sealed":
            return seed_of(self.digest, split, *parts)
        return int.from_bytes(hmac.digest(self._salt, canonical([self.digest, *parts]), "sha256")[:8], "big") >> 1

    def _fields(self, recipe: Recipe, seed: int, split: Split, instance: Instance) -> dict[str, object]:
        return {
            "id": self._id(recipe.family, instance),
            "bank": self.definition.name,
            "recipe": recipe,
            "split": split,
            "instance": seed,
            "held_out": self.definition.families[recipe.family].role == "held_out",
            "request": instance.request,
            "files": dict(instance.files),
            "setup": instance.setup,
            "user_turns": instance.user_turns,
            "needs_sandbox": self.definition.needs_sandbox,
        }

    def _id(self, family: str, instance: Instance) -> str:
        more = [list(instance.user_turns)] if instance.user_turns else []
        return digest([instance.request, dict(instance.files), instance.setup, family, *more])


def open_bank(
    folder: Path,
    salt: bytes,
    difficulty: tuple[int, int] | None = None,
    provider: SandboxProvider | None = None,
) -> GeneratedBank:
    """Open the bank in `folder`, cut to a range of difficulty where one is given (another digest, other tasks).

    A bank that brings its own generator needs `provider`, whose sandbox runs it. UserError for a bad bank.toml, a
    generator or family that does not ship, a generator that misbehaves, or no sandbox for it."""
    definition, path = load_definition(folder, difficulty), folder / "bank.toml"
    if definition.elsewhere:
        code = find_code(folder, definition.generator)
        if provider is None:
            raise UserError(f"{path}: its generator is code from elsewhere, which runs in a sandbox only; none is here")
        elsewhere = Elsewhere(definition, code, provider, salt)
        return GeneratedBank(definition, salt, elsewhere.table(), [digest_file(code), *_shared()])
    if definition.generator == NAME:
        listing = load_listing(folder, definition, salt)
        lists = [_digest_text(folder / name) for name in FILES.values() if (folder / name).exists()]
        return GeneratedBank(definition, salt, listing.table(), [*lists, *_shared()], listing.region)
    table = TABLES.get(definition.generator)
    if table is None:
        raise UserError(f"{path}: 'generator': no such table '{definition.generator}'; use one of {', '.join(TABLES)}")
    for name in definition.families:
        if name not in table:
            raise UserError(f"{path}: 'families.{name}': the generator '{definition.generator}' has no such family")
    code = Path(__file__).parent / definition.generator
    return GeneratedBank(definition, salt, table, [digest_tree(code, "*.py"), *_shared()])


def _shared() -> list[str]:
    """Digests of the code that decides how instances are drawn."""
    here = Path(__file__).parent
    return [digest_file(here / name) for name in ("content.py", "instance.py", "listed.py", "generated.py")]


def _digest_text(path: Path) -> str:
    """The same whatever marks an editor leaves in the file."""
    return hashlib.sha256(read_text(path).encode()).hexdigest()


def _share(raw: bytes) -> float:
    """A digest as a number in [0, 1)."""
    return int.from_bytes(raw[:8], "big") / 2**64
