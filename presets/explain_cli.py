"""``presets explain``: what a code means, or which codes the text of a log means."""

import sys
from typing import BinaryIO

import click
import msgspec

from presets.explain import Explanation, explain
from presets.logs import TAIL, Recognised, recognise

WIDTH = 300
"""Characters of an error text that are shown to people; JSON has all of it."""


@click.command("explain")
@click.argument("code", required=False)
@click.option("--log", type=click.File("rb"), metavar="FILE", help="A log; - is standard input.")
@click.option("--facts", is_flag=True, help="What conditions may ask of a checkpoint.")
@click.option("--vllm", metavar="V", help="A vLLM version. Default: the log's, or the installed.")
@click.option("--for", "consumer", metavar="CONSUMER", help="The program that builds the engine.")
@click.option(
    "--format", "form", type=click.Choice(["human", "json"]), default="human", show_default=True
)
def command(
    code: str | None,
    log: BinaryIO | None,
    facts: bool,
    vllm: str | None,
    consumer: str | None,
    form: str,
) -> None:
    """Explain a CODE of `presets check`, or an engine's log.

    Exit code with --log, 1: a preset or fault is recognised; 2: none is, or no answer.
    """
    if facts and code is None and log is None:
        from presets.catalogue import facts_markdown

        click.echo(facts_markdown(), nl=False)
        return
    if facts or (code is None) == (log is None):
        raise click.UsageError(
            "give either a CODE, such as gemma4-text/no-processor, or --log, or --facts"
        )
    found: Explanation | Recognised
    if log is None:
        found = explain(code or "", vllm, consumer)
        lines = _explained(found)
    else:
        found = recognise(log, vllm, consumer)
        lines = _recognised(found)
    if form == "json":
        lines = [msgspec.json.format(msgspec.json.encode(found), indent=2).decode()]
    click.echo("\n".join(lines))
    if isinstance(found, Recognised):
        sys.exit(1 if found.matches else 2)


def _explained(found: Explanation) -> list[str]:
    lines = [f"{found.verdict} {found.code}: {found.summary}", "why"]
    for one in found.conditions:
        lines += [f"  {one.code}: {one.why}", *(f"    {fact}" for fact in one.facts)]
    if not found.conditions:
        lines.pop()
    if found.proofs:
        lines.append("runs")
    for proof in found.proofs:
        stale = "" if proof.current else " (before the preset or its claim changed: no evidence)"
        lines.append(
            f"  vLLM {proof.vllm}, {proof.date[:10]}, {proof.device}: {proof.checkpoint}: "
            f"{proof.verdict}{stale}"
        )
        if proof.error:
            lines.append(f"    without it, {proof.stage}: {_short(proof.error)}")
    if found.unproven:
        lines.append(f"unproven: {found.unproven}")
    lines += [f"do{f' (vLLM {found.vllm})' if found.vllm else ''}", f"  {found.do}"]
    if found.caveat:
        lines.append(f"caveat: {found.caveat}")
    return lines + [f"source: {link}" for link in found.sources]


def _recognised(found: Recognised) -> list[str]:
    lines = []
    for match in found.matches:
        lines.append(f"line {match.line}, {' or '.join(match.stages)}: {match.text}")
        for one in match.candidates:
            lines += [f"  {one.verdict} {one.code}: {one.summary}", f"    {one.fix}"]
        if match.distinguishes:
            lines.append(f"  {len(match.candidates)} have this error; {match.distinguishes}")
    lines += [f"only a follow-up, line {f.line}: {f.text} ({f.why})" for f in found.follow_ups]
    if not found.matches:
        lines.append("not recognised: no preset or fault declares an error of this log")
    if found.skipped:
        lines.append(f"only the last {TAIL >> 20} MiB were read")
    return lines


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."
