"""``presets``: look presets up, merge them, and check data files.

The answer goes to stdout, everything else to stderr. Exit code 0: answered; 1: ``lint`` found
problems; 2: no answer, or bad usage.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec

import presets
from presets import scaffold
from presets.catalogue import markdown
from presets.diff import diff_engines
from presets.evidence import evidence
from presets.explain_cli import command as explain
from presets.kwargs import parse_set
from presets.lint import shipped, stale_schemas, write_schemas
from presets.registry import bind, engine_versions
from presets.registry import consumer as read_consumer
from presets.render import as_json, render
from presets.repair_cli import command as repair
from presets.schema import ConsumerFile

if TYPE_CHECKING:  # a quarter of the time that a check takes, and it prints without it
    from rich.console import Console

FORMAT = click.option(
    "--format", "form", type=click.Choice(["human", "json"]), default="human", show_default=True
)
VLLM = click.option("--vllm", metavar="V", help="A vLLM version. Default: the installed one.")


class _Group(click.Group):
    """Turns every error of the package into one line on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            warnings.simplefilter("always", DeprecationWarning)
            try:
                return super().invoke(ctx)
            except presets.PresetsError as error:
                _fail(str(error))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="vllm-presets", prog_name="presets")
def main() -> None:
    """VLLM engine override presets, each with the runs that prove it."""


@main.command("list")
@click.option("--family", metavar="F", help="Only presets of this family.")
@VLLM
@click.option(
    "--format",
    "form",
    type=click.Choice(["human", "json", "markdown"]),
    default="human",
    show_default=True,
)
def list_(family: str | None, vllm: str | None, form: str) -> None:
    """List the presets and the faults."""
    if form == "markdown":  # the same in every environment
        vllm = vllm or engine_versions()[-1]
    found = presets.find(family=family, vllm=vllm, trust_remote_code=True, faults=True)
    if form == "json":
        _print_json([_row(preset) for preset in found])
        return
    if form == "markdown":
        click.echo(markdown(found), nl=False)
        return
    rows = [[p.name, p.family, p.window, p.summary] for p in found]
    _table(["name", "family", "vLLM", "what it is for"], rows)


@main.command()
@click.argument("name")
@VLLM
@FORMAT
def show(name: str, vllm: str | None, form: str) -> None:
    """Show one preset or fault: when it applies, what it sets, and what proves it."""
    preset = bind(name, vllm, untested=True)
    if form == "json":
        details = {
            **_brief(preset),
            "for_vllm": preset.vllm,
            "kwargs": dict(preset),
            "essential": list(preset.essential),
            "conflicts": msgspec.to_builtins(preset.conflicts),
            "caveat": preset.caveat,
            "repair": preset.repair,
            "unproven": preset.unproven,
            "when": msgspec.to_builtins(preset.when),
            "claims": msgspec.to_builtins(preset.claims),
        }
        _print_json(details)
        return
    _lines(
        ("name", preset.name),
        ("aliases", ", ".join(preset.aliases)),
        ("family", preset.family),
        ("summary", preset.summary),
        ("vLLM", f"{preset.window} (kwargs below: for {preset.vllm})"),
        ("kwargs", render(preset, preset.vllm) if preset else ""),
        ("repair", preset.repair),
        *(("when", condition.why) for condition in preset.when),
        ("for", preset.intent),
        *(("never with", f"{c.key}: {c.reason}") for c in preset.conflicts),
        ("caveat", preset.caveat),
        ("unproven", preset.unproven),
        *(("claim", _claim(claim)) for claim in preset.claims),
        *(("source", source) for source in preset.sources),
    )


@main.command()
@click.argument("name")
@VLLM
@click.option("--for", "consumer", metavar="CONSUMER", help="The program that takes the kwargs.")
@click.option("--set", "settings", metavar="KEY=JSON", multiple=True, help="A kwarg of your own.")
@click.option("--untested", is_flag=True, help="Accept a vLLM newer than the newest known one.")
@click.option("--trust-remote-code", is_flag=True, help="Let the engine run the checkpoint's code.")
@FORMAT
def get(
    name: str,
    vllm: str | None,
    consumer: str | None,
    settings: tuple[str, ...],
    untested: bool,
    trust_remote_code: bool,
    form: str,
) -> None:
    """Print the engine kwargs of a preset, merged with yours, in the consumer's form."""
    user = parse_set(settings)
    profile = read_consumer(consumer) if consumer else None
    preset = presets.get(name, vllm, untested=untested, trust_remote_code=True)
    if trust_remote_code and "trust_remote_code" in preset:
        user.setdefault("trust_remote_code", True)
    merged = presets.merge(preset, user, consumer, untested=untested)
    kwargs = merged.handover()
    if settings and profile and profile.form == "environment" and form != "json":
        raise presets.KwargsError(
            f"--set: {profile.name} has no field for engine kwargs, and only a preset's reach it "
            f"otherwise; leave it out, or --format json. {profile.how}"
        )
    if form == "json":
        click.echo(as_json(kwargs))
    else:
        click.echo(render(kwargs, merged.vllm, profile, preset.name))
        if profile:
            click.echo(f"{profile.name}: {profile.how}", err=True)
    if preset.caveat and profile and profile.trainer:
        click.echo(f"caveat: {preset.caveat}", err=True)


@main.command()
@click.argument("checkpoint", metavar="CKPT")
@VLLM
@click.option("--for", "consumer", metavar="CONSUMER", help="The program that builds the engine.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["human", "json", "github"]),
    default="human",
    show_default=True,
)
def check(checkpoint: str, vllm: str | None, consumer: str | None, form: str) -> None:
    """Say whether a checkpoint loads, or which preset or repair it needs; no weight is loaded.

    CKPT is a local folder, or a Hub repo id (org/name[@revision]). Exit code 0: it loads; 1: a
    preset or a fault; 2: not known, or it could not be checked.
    """
    found = presets.check(checkpoint, vllm, consumer)
    if form == "json":
        _print_json(msgspec.to_builtins(found))
    elif form == "github":
        click.echo(_annotation(found))
    else:
        click.echo("\n".join(_said(found)))
    sys.exit({"loads": 0, "unknown": 2}.get(found.verdict, 1))


def _said(found: presets.Check) -> list[str]:
    """One line for what loads; else the reason, the fix, and what else there is."""
    if found.verdict in ("loads", "unknown"):
        return [f"{found.verdict}: {_plain(found.reason)}"]
    lines = [f"{found.verdict} {found.code}: {_plain(found.reason)}", f"  {found.fix}"]
    if found.verdict == "preset" and bind(found.preset or "", found.vllm, untested=True).steps:
        lines.append("  # or write it into a copy: presets repair CKPT --out DIR")
    for one in found.also:
        lines += [f"also {one.verdict} {one.code}: {_plain(one.reason)}", f"  {one.fix}"]
    return lines


def _plain(text: str) -> str:
    """A line with words of a stranger's files in it: no control characters, not endless."""
    if len(text) > 1000:
        text = f"{text[:700]} ... {text[-200:]}"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _annotation(found: presets.Check) -> str:
    """A workflow command of GitHub Actions."""
    level = {"loads": "notice", "unknown": "warning"}.get(found.verdict, "error")
    reason = _plain(f"{found.checkpoint}: {found.reason}")
    text = " ".join(filter(None, [f"{reason}.", found.fix]))
    for raw, escaped in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(raw, escaped)
    return f"::{level} title=presets {found.code}::{text}"


main.add_command(explain)
main.add_command(repair)


@main.command()
@click.argument("name", required=False)
@FORMAT
def consumers(name: str | None, form: str) -> None:
    """List the programs that build the engine, or show one with the keys it must own."""
    if name is None:
        profiles = [read_consumer(n) for n in presets.consumer_names()]
        if form == "json":
            _print_json([msgspec.to_builtins(profile) for profile in profiles])
            return
        rows = [[p.name, p.versions, p.form, str(len(p.guards)), p.summary] for p in profiles]
        _table(["name", "versions read", "form", "guards", "what it is"], rows)
        return
    profile = read_consumer(name)
    if form == "json":
        _print_json(msgspec.to_builtins(profile))
        return
    _show_consumer(profile)


@main.command("diff-engine")
@click.argument("old")
@click.argument("new")
@FORMAT
def diff_engine(old: str, new: str, form: str) -> None:
    """Show what two recorded vLLM versions have and have not: arguments, architectures."""
    found = diff_engines(old, new)
    if form == "json":
        _print_json(msgspec.to_builtins(found))
        return
    click.echo(f"vLLM {old} -> {new}")
    for kind, changes in (("arguments", found.arguments), ("architectures", found.architectures)):
        renamed = [f"{name} -> {', '.join(to)}" for name, to in changes.renamed.items()]
        for what, names in (
            ("gained", changes.gained),
            ("lost", changes.lost),
            ("renamed", renamed),
        ):
            click.echo(f"{kind} {what}: {len(names)}")
            for name in names:
                click.echo(f"  {name}")
    click.echo(f"defaults changed: {len(found.defaults)}")
    for name, (before, after) in found.defaults.items():
        click.echo(f"  {name}: {before!r} -> {after!r}")


@main.command()
@click.argument("name")
@click.option("--out", type=click.Path(file_okay=False, exists=True, path_type=Path), metavar="DIR")
def new(name: str, out: Path | None) -> None:
    """Write the TOML file of a new preset, with comments, for you to fill in."""
    path = scaffold.new(name, out)
    click.echo(path)
    click.echo(f"fill it in, then: presets lint {path} && harness verify {path}", err=True)


@main.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--write-schema", is_flag=True, help="Write the JSON Schemas first.")
def lint(files: tuple[Path, ...], write_schema: bool) -> None:
    """Check preset and consumer files; without FILES, everything that is shipped."""
    if write_schema:
        for path in write_schemas():
            click.echo(f"wrote {path.name}", err=True)
    paths = [p for f in files for p in (sorted(f.rglob("*.toml")) if f.is_dir() else [f])]
    if not files:
        paths = shipped()
    problems = presets.lint(paths) + ([] if files else stale_schemas())
    for problem in problems:
        click.echo(problem)
    if problems:
        sys.exit(1)
    click.echo(f"{len(paths)} files checked, no problems")


def _brief(preset: presets.Preset) -> dict[str, Any]:
    return {
        "name": preset.name,
        "family": preset.family,
        "summary": preset.summary,
        "aliases": list(preset.aliases),
        "vllm": preset.window,
        "sources": list(preset.sources),
    }


def _row(preset: presets.Preset) -> dict[str, Any]:
    return {
        **_brief(preset),
        "conditions": [condition.why for condition in preset.when] or [preset.intent],
        "kwargs": dict(preset),
        "for_vllm": preset.vllm,
        "repair": preset.repair,
        "evidence": msgspec.to_builtins(evidence(preset)),
    }


def _claim(claim: Any) -> str:
    made = f" with {', '.join(claim.defects)}" if claim.defects else ""
    control = claim.control if isinstance(claim.control, str) else f"fails at {claim.control.stage}"
    treatment = "ok" if claim.treatment == "ok" else f"fails at {claim.treatment.stage}"
    return f"{claim.checkpoint}{made}, vLLM {claim.vllm}: without {control}, with {treatment}"


def _show_consumer(profile: ConsumerFile) -> None:
    _lines(
        ("name", profile.name),
        ("summary", profile.summary),
        ("versions", profile.versions),
        ("vLLM", profile.vllm),
        ("form", f"{profile.form} {profile.knob}".strip()),
        ("read back", profile.parsed or "the source was read, the form not run"),
        ("how", profile.how),
        ("wins", ", ".join([profile.wins, *(f"{k}: {who}" for k, who in profile.wins_at.items())])),
        ("sets", ", ".join(profile.sets)),
        ("defaults", render(profile.defaults, "")),
        *(("source", source) for source in profile.sources),
    )
    for guard in profile.guards:
        only = f" (only {', '.join(map(repr, guard.values))})" if guard.values else ""
        only += f" (but not {', '.join(guard.free)})" if guard.free else ""
        basis = "measured" if guard.measured else "read in the source"
        click.echo()
        _lines(
            ("guard", f"{guard.key}{only}"),
            ("failure", f"{guard.failure}, {basis}"),
            ("reason", guard.reason),
            ("instead", guard.instead),
            *(("evidence", link) for link in guard.evidence),
        )
    for one in profile.harmless:
        click.echo()
        _lines(("harmless", one.key), ("reason", one.reason))


def _lines(*pairs: tuple[str, str]) -> None:
    from rich.text import Text

    console = _console()
    for label, text in pairs:
        if text:
            console.print(Text(f"{label:<11}", style="bold"), Text(text), sep="")


def _table(columns: list[str], rows: list[list[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for index, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    _console().print(table)


def _console() -> "Console":
    from rich.console import Console

    # In a pipe a line must stay a line, whatever COLUMNS says.
    return Console(highlight=False, width=None if sys.stdout.isatty() else 10_000)


def _print_json(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # A file name that is not UTF-8 becomes the JSON escapes of its bytes.
    click.echo(text.encode("utf-8", "backslashreplace").decode())


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"warning: {message}", err=True)


def _fail(text: str) -> NoReturn:
    first, *rest = map(_plain, text.splitlines())
    click.echo("\n".join([f"error: {first}", *(f"       {line}" for line in rest)]), err=True)
    sys.exit(2)
