"""What a trick is, and how it is played."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Trick:
    """Shell commands, run in turn (one action each), and perhaps an answer. `{solution}` in a command stands for the
    file that a programming task asks for. `expects` is part of a flag that an episode of it must carry."""

    name: str
    expects: str
    commands: tuple[str, ...]
    answer: str | None = None

    def played(self, solution: str = "solution.py") -> tuple[str, ...]:
        return tuple(command.replace("{solution}", solution) for command in self.commands)


def trick(name: str, expects: str, *commands: str, answer: str | None = None) -> Trick:
    return Trick(name, expects, commands, answer)
