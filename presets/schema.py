"""What a preset file and a consumer file may hold: closed msgspec structs.

The JSON Schemas in ``data/`` are generated from these and from the result of ``presets check``
(``presets lint --write-schema``), and pinned by a test. Checks that a type cannot express live in
``validate.py``.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

Name = Annotated[str, Meta(pattern=r"^[a-z0-9]+(?:[-.][a-z0-9]+)*$", max_length=64)]
Text = Annotated[str, Meta(min_length=1, max_length=2000)]
Url = Annotated[str, Meta(pattern=r"^https://[^\s]+$")]
Sources = Annotated[list[Url], Meta(min_length=1)]
VersionRange = Annotated[str, Meta(pattern=r"^>=", description="'>=A' or '>=A,<B'")]
DottedKey = Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*(?:\.\w+)*$")]
Stage = Literal["config", "construct", "load", "profile", "generate", "parity", "sync"]
Device = Literal["cpu", "cuda"]
Task = Literal["generate", "embed", "token_embed", "classify", "token_classify", "reward"]
Pooling = Literal["last", "cls", "mean", "splade"]

Mark = Literal[
    "damaged-weights",
    "damaged-tokenizer",
    "duplicate-tensors",
    "empty-tensors",
    "extra-special-tokens-list",
    "index-mismatch",
    "missing-shards",
    "no-weights",
    "pickle-only",
    "quantized-undeclared",
    "removed-architecture",
    "unknown-model-type",
    "unmerged-lora",
    "unreadable-file",
    "unsafe-index",
    "vocab-mismatch",
    "wrapper-prefix",
]
"""What ``presets.facts`` sees to be wrong with a checkpoint's files, whatever its family."""


class Closed(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything decoded from a data file."""


class Condition(Closed, frozen=True):
    """One way a checkpoint can need the preset. All stated facts must hold (a conjunction);
    a preset's ``when`` is a list of these (a disjunction). A fact left out is not asked.
    """

    why: Text
    code: Name | None = None
    """Tells the conditions of one preset apart: its stable code is ``preset/code``."""
    architectures: list[str] = field(default_factory=list)
    """The first declared architecture is one of these; "" stands for none declared."""
    model_type: list[str] = field(default_factory=list)
    """``model_type`` of config.json is one of these."""
    configs: list[str] = field(default_factory=list)
    """Each of these sub-configs is a table."""
    null_configs: list[str] = field(default_factory=list)
    """Each of these keys of config.json (dotted: ``text_config.x``) is null or absent."""
    values: dict[str, list[Any]] = field(default_factory=dict)
    """Each of these keys of config.json (dotted) holds one of the values listed."""
    tensors: list[str] = field(default_factory=list)
    """For each of these prefixes some tensor name starts with it."""
    no_tensors: list[str] = field(default_factory=list)
    """No tensor name starts with any of these prefixes."""
    files: list[str] = field(default_factory=list)
    """Each of these files is there; ``*`` stands for any text."""
    no_files: list[str] = field(default_factory=list)
    """None of these files is there; ``*`` stands for any text."""
    tokenizer_class: list[str] = field(default_factory=list)
    """``tokenizer_class`` of tokenizer_config.json is one of these."""
    image_processor: list[str] = field(default_factory=list)
    """``image_processor_type`` of preprocessor_config.json is one of these."""
    transformers: VersionRange | None = None
    """``transformers_version`` of config.json, which saved it, lies in this range."""
    marks: list[Mark] = field(default_factory=list)
    """Each of these was found wrong with the files."""
    vllm: VersionRange | None = None
    """The condition is a problem in these vLLM versions only."""


class KwargsBlock(Closed, frozen=True):
    """The engine kwargs for one range of vLLM versions."""

    vllm: VersionRange
    engine: Annotated[dict[str, Any], Meta(min_length=1)]


class Failure(Closed, frozen=True):
    """A failure as declared: where it happens and what the error must say."""

    stage: Stage
    error: Annotated[str, Meta(min_length=8, description="regular expression, searched")]


class Claim(Closed, frozen=True):
    """What happens, without and with the preset, on one checkpoint. The harness runs both."""

    checkpoint: Annotated[str, Meta(min_length=1)]
    """A family of ``harness.tiny`` ("gemma4"), or a Hub repository ("google/gemma-4-E2B-it")."""
    vllm: VersionRange
    control: Failure | Literal["ok", "wrong", "unknown"]
    """Without the preset: a declared failure, silently "wrong", or "ok" (not needed here). In an
    unproven preset "unknown", where the harness has no way to see it, such as with images."""
    sources: Sources
    defects: list[str] = field(default_factory=list)
    """Applied to the healthy checkpoint in this order."""
    treatment: Failure | Literal["ok"] = "ok"
    """With the preset. A failure here says the preset must NOT apply: ``when`` must not match."""
    engine: dict[str, Any] = field(default_factory=dict)
    """Engine kwargs for both runs, on top of the harness's own."""
    task: Task = "generate"
    """What the engine is asked for: greedy tokens, an embedding of the prompt or of each of its
    tokens, class probabilities, or what they are made of, a reward model's own scores."""
    pooling: Pooling | None = None
    """Of an embedding: which hidden states of the last layer the reference pools; "splade": the
    log-saturated logits of a masked LM, the largest over all tokens."""
    labels: list[str] = field(default_factory=list)
    """Of a classification by a causal LM: the tokens whose logits the reference compares. One:
    its sigmoid; two: the probability of the second. None: the checkpoint has its own head."""
    device: Device | None = None
    """Holds on this device only; None: on every device."""
    prompt: str | None = None
    """A factual prompt, on real weights; the harness takes a fixed token prompt otherwise."""
    answer: str | None = None
    """What the greedy continuation of ``prompt`` must contain."""
    why: str = ""
    memory_gib: Annotated[float, Meta(gt=0)] | None = None
    """Hub checkpoints: device memory that the weights and the cache need, GiB."""
    gpus: Annotated[int, Meta(ge=1)] = 1
    gated: bool = False

    @property
    def on_hub(self) -> bool:
        return "/" in self.checkpoint

    @property
    def expected(self) -> Literal["needed", "unneeded", "excluded", "unknown"]:
        """The verdict that makes the claim true."""
        if self.control == "unknown":
            return "unknown"
        if self.treatment != "ok":
            return "excluded"
        return "unneeded" if self.control == "ok" else "needed"


class Conflict(Closed, frozen=True):
    """An argument that defeats the preset, set to one of ``values`` or, where none are listed, to
    anything but zero, null or false.
    """

    key: DottedKey
    reason: Text
    values: list[Any] = field(default_factory=list)


class Steps(Closed, frozen=True):
    """What ``presets repair`` does to a copy of the checkpoint: nothing that loses a value."""

    rename: dict[str, str] = field(default_factory=dict)
    """Prefix of tensor names -> the prefix in its place; each in turn, once a name. A name that
    has the new, longer prefix already is left alone."""
    set: dict[str, dict[DottedKey, Any]] = field(default_factory=dict)
    """JSON file -> what its keys (dotted) shall hold."""
    unset: dict[str, list[DottedKey]] = field(default_factory=dict)
    """JSON file -> keys (dotted) that are taken out."""
    copy: list[str] = field(default_factory=list)
    """Files of the model that it was trained from, which the user names; ``*`` is any text."""


class PresetFile(Closed, frozen=True):
    """One TOML file in ``data/presets``; the file's name is ``name`` plus ``.toml``.

    A preset has ``kwargs``; a fault, which no engine argument repairs, has ``repair`` instead.
    """

    name: Name
    family: Name
    summary: Text
    vllm: VersionRange
    """The versions the preset is offered for; ``kwargs`` must cover it without gap or overlap."""
    sources: Sources
    claims: Annotated[list[Claim], Meta(min_length=1)]
    kwargs: list[KwargsBlock] = field(default_factory=list)
    essential: list[DottedKey] = field(default_factory=list)
    """What the preset exists for: a user value that differs here is a contradiction."""
    repair: str = ""
    """Of a fault: what to do to the checkpoint. Its claims' treatment is the repaired checkpoint:
    what ``steps`` make of it, or else the healthy one."""
    steps: Steps | None = None
    """The repair, where it is one that ``presets repair`` can do."""
    unproven: str = ""
    """Why no tiny checkpoint shows it. All claims are then about Hub checkpoints, for a GPU job to
    try, and the verdict elsewhere is ``unknown`` with this reason."""
    when: list[Condition] = field(default_factory=list)
    """The conditions, any of which a checkpoint must meet."""
    intent: str = ""
    """In place of ``when``: what the user wants of a checkpoint that shows nothing of it, such as
    scores of a reranker that is published as a causal LM. ``presets check`` never advises it."""
    aliases: list[Name] = field(default_factory=list)
    deprecated_aliases: list[Name] = field(default_factory=list)
    """Former names: they resolve, with a DeprecationWarning."""
    conflicts: list[Conflict] = field(default_factory=list)
    caveat: str = ""


class Guard(Closed, frozen=True):
    """A key that the consumer must own, and what breaks when only the engine side changes."""

    key: DottedKey
    reason: Text
    failure: Literal["silent", "crash", "hang"]
    instead: Text
    """Where to set it instead: the consumer's own field or flag."""
    evidence: Sources
    values: list[Any] = field(default_factory=list)
    """Only these values are reserved; empty: every value."""
    free: list[DottedKey] = field(default_factory=list)
    """Keys below ``key`` that are not reserved: all others below it are."""
    measured: bool = False
    """True where a run showed the failure, False where it was read in the source."""
    trial: dict[str, Any] = field(default_factory=dict)
    """Engine kwargs that ``harness guards`` sets on the engine's side alone, to see the failure."""
    untried: str = ""
    """Why ``harness guards`` cannot show it on the CPU with one process."""


class Harmless(Closed, frozen=True):
    """A key that looks as if it had to be guarded, and does no harm on the engine's side alone."""

    key: DottedKey
    reason: Text
    trial: dict[str, Any]
    """As ``Guard.trial``; ``harness guards`` sees that trainer and engine stay in step."""


Wins = Literal["user", "consumer", "error", "merged"]
Form = Literal[
    "python",
    "flags",
    "json",
    "yaml",
    "toml",
    "hydra",
    "dotlist",
    "pairs",
    "arguments",
    "environment",
]


class Passthrough(Closed, frozen=True):
    """A field for engine kwargs that a later version of the program may have."""

    knob: str
    """The field's name."""
    file: str
    """Where it would be declared: a file below ``site-packages``."""
    source: Url
    """Where it is proposed."""


class ConsumerFile(Closed, frozen=True):
    """One TOML file in ``data/consumers``: a program that builds the engine."""

    name: Name
    summary: Text
    versions: Text
    """The versions of the program that were read."""
    form: Form
    """How the program takes engine kwargs; ``presets/render.py`` says what each looks like.
    "environment": it has no field for them, and a preset reaches it through the plugin."""
    how: Text
    """How to hand the kwargs over, in one or two sentences."""
    sources: Sources
    knob: str = ""
    """The field, flag, option, table or dotted path that takes the kwargs."""
    knobs: dict[str, str] = field(default_factory=dict)
    """Arguments that have a path of their own, in the form "hydra"."""
    coming: Passthrough | None = None
    """Once the installed program has this field, it is the knob, and the form is ``python``."""
    builds: Literal["LLM", "AsyncEngineArgs"] = "LLM"
    """What the kwargs end in: each takes some that the other does not."""
    vllm: str = ""
    """The vLLM versions that the program declares; empty: none."""
    parsed: str = ""
    """Of a form that the program's own parser was seen to read back: the version that read it.
    Empty: its source was read, and no more."""
    wins: Wins = "user"
    """Whose value counts where the caller sets what the program sets, too: "error" refuses it."""
    wins_at: dict[DottedKey, Wins] = field(default_factory=dict)
    """The same for keys at which it differs."""
    sets: list[DottedKey] = field(default_factory=list)
    """Engine kwargs that the program sets itself, always or by its own fields."""
    trainer: bool = False
    """It trains the model that the engine serves, so a preset's caveat concerns it."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """Engine kwargs that the program sets to these values and that a caller may change."""
    guards: list[Guard] = field(default_factory=list)
    harmless: list[Harmless] = field(default_factory=list)


def json_schema(kind: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct, as shipped in the wheel."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}
