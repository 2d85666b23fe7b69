"""The end table of a run. Plain ASCII without colours where the output is no terminal."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rsi.expansion.coverage import equal_budget
from rsi.report import words
from rsi.report.data import GenerationData, ReportData
from rsi.types import Rate

COLOUR = {"promote": "green", "reject": "red", "indecisive": "yellow"}


def show(data: ReportData, console: Console) -> None:
    """Print what each generation found, spent and earned, how the run did against its budget, and where to look."""
    for generation in data.generations:
        console.print(_table(generation, console))
        for reason in generation.verdict.reasons:
            console.print(Text(f"  {words.single_line(reason)}"), soft_wrap=True)
        console.print()
    if any(figure.any for figure in data.losses):
        console.print(_losses(data, console))
    if data.budget:
        console.print(_budget(data, console))
    for label, place in data.places.items():
        console.print(Text(words.single_line(f"{label}: {place}")), soft_wrap=True)


def _table(data: GenerationData, console: Console) -> Table:
    verdict, found, search = data.verdict, data.discovery, data.expansion
    title = Text(f"Generation {data.generation}: ")
    title.append(words.outcome(data), style=COLOUR[verdict.decision])
    table = _grid(console, title, "", "champion", "candidate")
    for where in ("all", *words.SLICES):
        rates = [verdict.rates.get(f"{who}/{where}") for who in ("champion", "candidate")]
        table.add_row(f"sealed, {where}", *map(words.percent, rates))
    table.add_row("judged", "", words.judged(verdict))
    table.add_row("gain, on tasks held back", "", words.points(verdict.gain))
    table.add_row("selection", *map(words.percent, (search.selection_before, search.selection_after)))
    for weights in ("old weights", "new weights"):
        for harness in ("old harness", "new harness"):
            name = f"{weights}, {harness}"
            table.add_row(f"2x2: {name}", *_side(name, verdict.two_by_two.get(name)))
    for name, effect in verdict.effects.items():
        table.add_row(f"effect: {name}", "", words.points(effect))
    end, control = (search.coverage or (None,))[-1], (search.retry or (None,))[-1]
    table.add_section()
    table.add_row(
        "tasks discovered", f"{len(found.tasks)} screened", f"{len(found.fails)} fail, {len(found.band)} in the band"
    )
    table.add_row("", "retry control", "search (adaptive)")
    table.add_row("attempts", *(str(p.attempts) if p else words.NONE for p in (control, end)))
    table.add_row("coverage", words.covered(control, search.tasks), words.covered(end, search.tasks))
    table.add_row("pooled pass rate", words.pooled(control), words.pooled(end))
    search_then, control_then = equal_budget(search.coverage, search.retry)
    if control_then.attempts:
        table.add_row("at equal budget", *(words.covered(p, search.tasks) for p in (control_then, search_then)))
    accepted = sum(trial.accepted for trial in search.trials)
    table.add_row("edits accepted", "", f"{accepted} of {len(search.trials)}, {len(search.waiting)} wait for a person")
    return table


def _side(name: str, rate: Rate | None) -> tuple[str, str]:
    """The champion's own cell of the 2x2 stands under the champion, the other three under the candidate."""
    shown = words.percent(rate)
    return (shown, "") if name == "old weights, old harness" else ("", shown)


def _losses(data: ReportData, console: Console) -> Table:
    table = _grid(console, Text("Lost and refused"), "generation", "attempts", "why")
    for figure in data.losses:
        for reason, number in sorted(figure.lost.items(), key=lambda item: -item[1]):
            table.add_row(str(figure.generation), f"{number} lost", Text(words.single_line(reason)))
        if figure.refused:
            refused = Text("the model's server would not answer; scored as they stood")
            table.add_row(str(figure.generation), f"{figure.refused} refused", refused)
    return table


def _budget(data: ReportData, console: Console) -> Table:
    table = _grid(console, Text("Budget"), "", "used", "limit")
    for figure in data.budget:
        used = Text(f"{figure.used:,.6g}", style="" if figure.kept else "red")
        table.add_row(figure.name, used if figure.kept else used.append(" (over)"), words.limit(figure))
    return table


def _grid(console: Console, title: Text, *columns: str) -> Table:
    style = box.ROUNDED if console.is_terminal else box.ASCII
    table = Table(title=title, title_justify="left", box=style, title_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
