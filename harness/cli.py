"""The ``harness`` command."""

import sys
from collections import Counter
from pathlib import Path

import click
import msgspec
from rich.console import Console

import presets
import presets.engines
from harness import bench as _bench
from harness import record_engine, report
from harness.agreement import Agreement, Engine, agree, as_markdown
from harness.cells import cells
from harness.errors import HarnessError
from harness.guards import Guarded, try_guards
from harness.isolation import Isolation
from harness.loads import try_families
from harness.outcome import Environment
from harness.probe import probe
from harness.progress import Progress
from harness.twins import find_twins
from harness.verify import Verifier, verify
from presets import Preset
from presets.loads import layouts
from presets.registry import consumer, default_vllm, names, resolve
from presets.schema import PresetFile
from presets.validate import read_preset

FORMATS = click.Choice(["human", "json"])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="vllm-presets")
def main() -> None:
    """Prove engine override presets on real checkpoints, in the real engine.

    Exit codes: 0 every claim held, 1 some did not, 2 nothing could be run.
    """


@main.command("verify")
@click.argument("name", nargs=-1, metavar="[NAME|FILE.toml]...")
@click.option("--all", "everything", is_flag=True, help="Every preset.")
@click.option("--hub", is_flag=True, help="The presets' Hub checkpoints instead of tiny ones.")
@click.option("--format", "form", type=FORMATS, default="human", show_default=True)
@click.option(
    "--records",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append a JSON line for every cell.",
)
@click.option("--resume", is_flag=True, help="Skip cells that --records has, inputs unchanged.")
@click.option("--memory-gib", type=float, help="Limit the memory of each engine process.")
def verify_command(
    name: tuple[str, ...],
    everything: bool,
    hub: bool,
    form: str,
    records: Path | None,
    resume: bool,
    memory_gib: float | None,
) -> None:
    """Run the claims of presets, by name or by file, without and with the preset."""
    if bool(name) == everything:
        raise click.UsageError("name one or more presets, or pass --all")
    if resume and records is None:
        raise click.UsageError("--resume needs --records FILE")
    files = [_file(one) for one in (names() if everything else name)]
    console = Console(stderr=True)
    with Progress(console) as progress:
        progress.say("starting the engine")
        isolation = Isolation(memory_gib=memory_gib)
        environment = isolation.call(probe, answer=Environment)
        version = environment.vllm
        if hub and environment.device != "cuda":
            raise HarnessError("--hub loads real checkpoints on a GPU, and vLLM sees none here")
        todo = []
        for file in files:
            try:
                preset = Preset(file, version)
            except presets.UnsupportedVersionError as error:
                progress.say(str(error))
                continue
            todo += cells([preset], version, environment.device, hub=hub)
        if not todo:
            kind = "Hub" if hub else "tiny"
            raise HarnessError(f"no claim on a {kind} checkpoint holds for vLLM {version} here")
        progress.total(len(todo))
        verifier = Verifier(isolation, environment)
        done = []
        for entry in verify(
            verifier, todo, write_to=records, resume=resume, starting=progress.starting
        ):
            progress.finished(entry)
            done.append(entry)
    if form == "json":
        print(report.as_json(done))
    else:
        # a pipe has no width of its own: 80 columns would fold every cell
        report.print_table(done, Console(width=None if sys.stdout.isatty() else 140))
    if all(r.verdict in ("blocked", "unknown") for r in done):
        sys.exit(2)
    sys.exit(0 if report.all_held(done) else 1)


def _file(name: str) -> PresetFile:
    return read_preset(Path(name)) if name.endswith(".toml") else resolve(name)


@main.command("record-engine")
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path), metavar="OUT.json")
@click.option("--keep-twins", is_flag=True, help="Take them from OUT as it is: they take longest.")
def record_engine_command(out: Path, keep_twins: bool) -> None:
    """Record the installed vLLM: arguments, architectures, and text twins that really load."""
    with Progress(Console(stderr=True)) as progress:
        progress.say("importing every model class")
        record = record_engine.record()
        progress.say(f"vLLM {record['vllm']}: {len(record['architectures'])} architectures")
        known = (
            msgspec.json.decode(out.read_bytes(), type=presets.engines.Engine).twins.items()
            if keep_twins
            else None
        )
        twins: dict[str, str | None] = {}
        for architecture, text in known or find_twins(Isolation(), record["architectures"]):
            progress.say(f"{architecture}: {text or 'no text class loads it'}")
            twins[architecture] = twins.get(architecture) or text
    record_engine.write({**record, "twins": twins}, out)


@main.command("record-loads")
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path), metavar="OUT.json")
def record_loads_command(out: Path) -> None:
    """Record which healthy tiny checkpoints the installed engine loads, and how they look."""
    isolation = Isolation()
    with Progress(Console(stderr=True)) as progress:
        environment = isolation.call(probe, answer=Environment)
        layouts = []
        for tried in try_families(isolation):
            progress.say(f"{tried.family}: {tried.why or 'loads'}")
            layouts += [tried.layout] if tried.layout else []
    text = msgspec.json.format(msgspec.json.encode(layouts), indent=1) + b"\n"
    out.write_bytes(text)
    print(f"vLLM {environment.vllm} loads {len(layouts)} of the tiny checkpoints")


@main.command("agree")
@click.argument("family", nargs=-1)
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep what the engine did, and do not run again what is there.",
)
@click.option("--format", "form", type=click.Choice(["human", "markdown"]), default="human")
def agree_command(family: tuple[str, ...], keep: Path | None, form: str) -> None:
    """Compare what presets check says with what the engine does: families (default: all that are
    known to load), healthy and with each defect that fits.

    Exit code 1: a false alarm, a false "loads", or a preset that does not help.
    """
    families = family or [one.family for one in layouts(default_vllm())]
    found: list[Agreement] = []
    isolation = Isolation()
    with Progress(Console(stderr=True)) as progress:
        kept = Engine(isolation, isolation.call(probe, answer=Environment), keep)
        for one in agree(isolation, kept, families):
            found.append(one)
            engine_says = "loads" if one.loads else f"fails, {one.error[:80]}"
            mark = "" if one.agrees else "DISAGREES: "
            said = f"{one.verdict} {one.code}"
            progress.say(f"{mark}{one.family} + {one.defect or 'healthy'}: {said}; {engine_says}")
    counted = Counter(one.verdict for one in found)
    wrong = sum(not one.agrees for one in found)
    if form == "markdown":
        print(as_markdown(found))
    else:
        print(f"{len(found)} checkpoints: {dict(counted)}, {wrong} disagree with the engine")
    sys.exit(1 if wrong or not found else 0)


@main.command("guards")
@click.argument("name", metavar="CONSUMER")
@click.option(
    "--keep",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A line for each key; what is there is not run again.",
)
def guards_command(name: str, keep: Path | None) -> None:
    """Set each key that a trainer's profile guards, and each that it calls harmless, on the
    engine's side alone, in a real training run.

    Exit code 1: profile and run disagree; 2: the trainer cannot be run.
    """
    profile = consumer(name)
    if not any(guard.trial for guard in profile.guards):
        raise HarnessError(f"{name}: its guards have no trials; they were read in the source")
    lines = keep.read_bytes().splitlines() if keep and keep.exists() else []
    known = {one.key: one for one in (msgspec.json.decode(li, type=Guarded) for li in lines)}
    isolation = Isolation()
    found = []
    with Progress(Console(stderr=True)) as progress:
        environment = isolation.call(probe, answer=Environment)
        for one in try_guards(isolation, environment, profile, known):
            found.append(one)
            mark = "" if one.held else f"DISAGREES, the profile says {one.said}: "
            progress.say(f"{mark}{one.key}: {one.seen}; {one.detail}")
            if keep:
                text = b"".join(msgspec.json.encode(each) + b"\n" for each in found)
                keep.write_bytes(text)
    for guard in profile.guards:
        if not guard.trial:
            print(f"{guard.key}: not run: {guard.untried}")
    wrong = sum(not one.held for one in found)
    print(f"{name}: {len(found)} keys set on the engine's side alone, {wrong} disagree")
    sys.exit(1 if wrong else 0)


@main.command("bench")
@click.argument("checkpoint", default="gemma4")
def bench_command(checkpoint: str) -> None:
    """Time one run in the preloaded engine against a fresh LLM(...) process, side by side."""
    _bench.compare(checkpoint, Console())


def run() -> None:
    """Entry point: an error of ours is one line on stderr and exit code 2."""
    try:
        main()
    except (HarnessError, presets.PresetsError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
