"""Where things lie: what a home keeps, and what settings mean by a name or a path."""

from pathlib import Path

from rsi.config import RunSettings, home, project_root
from rsi.errors import UserError


def inside(name: str) -> Path:
    """A path in settings: absolute, or relative to the working directory, or to the project. UserError for what can be
    no path."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else project_root() / path
    except (OSError, ValueError, RuntimeError) as error:  # too long, a zero byte, the home of an unknown user
        raise UserError(f"'{name[:60]}' can be no path: {error}") from None


def bank_folder(name: str) -> Path:
    """A bank by name (task_banks/<name>), or by path: what holds a slash is one. UserError where there is none."""
    shipping = [project_root() / "task_banks" / name] if "/" not in name else []
    for folder in (*shipping, inside(name)):
        if (folder / "bank.toml").is_file():
            return folder
    shipped = ", ".join(sorted(path.parent.name for path in (project_root() / "task_banks").glob("*/bank.toml")))
    raise UserError(f"'bank': no bank '{name}'; name a folder that holds bank.toml, or one that ships: {shipped}")


def start_document(start: str, bank: Path) -> Path:
    """The founding HCP document by name (<bank's folder>/harness/<name>.toml or harness_configs/<bank>/<name>.toml) or
    by path."""
    for named in (bank / "harness", project_root() / "harness_configs" / bank.name):
        if (named / f"{start}.toml").is_file():
            return named / f"{start}.toml"
    return inside(start)


def adapters() -> Path:
    return home() / "adapters"


def work() -> Path:
    return home() / "work"


def report_file(settings: RunSettings, generation: int) -> Path:
    return home() / "reports" / settings.lineage / f"generation-{generation}.html"
