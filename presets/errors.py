"""Every error this package raises, under one root.

PresetsError
├── DataError               a preset or consumer file is invalid (all problems at once)
├── UnknownNameError        no preset or consumer of that name (suggests the nearest)
├── UnsupportedVersionError the preset is not known to hold for that vLLM version
├── KwargsError             engine kwargs that are no JSON object, or bad JSON
├── UnknownArgumentError    arguments, or architectures, which that vLLM version does not have
├── ContradictionError      a user value contradicts what the preset exists for
├── GuardError              keys that the consumer must own itself
├── FaultError              a fault: no engine argument repairs it, the checkpoint must be repaired
├── RemoteCodeError         ``trust_remote_code=True`` without an explicit opt-in
└── CheckpointError         a checkpoint's files cannot be read
"""


class PresetsError(Exception):
    """Root of all errors raised by ``presets``."""


class _ProblemsError(PresetsError):
    """An error made of several problems, each one line, all reported at once."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))

    def __reduce__(self) -> tuple[type, tuple[list[str]]]:
        return type(self), (self.problems,)


class DataError(_ProblemsError):
    """A preset or consumer file is invalid; ``problems`` has one ``file: path: what`` per line."""


class UnknownNameError(PresetsError, KeyError):
    """No preset, or no consumer, has that name."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0])


class UnsupportedVersionError(PresetsError, ValueError):
    """The preset is not known to hold for the vLLM version asked for."""


class KwargsError(PresetsError, ValueError):
    """Engine kwargs that are not a JSON object with string keys."""


class UnknownArgumentError(_ProblemsError):
    """Arguments, or architectures, that the vLLM version does not have, with the new or the nearest
    name, or the versions that have it.
    """


class ContradictionError(_ProblemsError):
    """User values that contradict what the preset exists for, both sides named."""


class GuardError(_ProblemsError):
    """Keys that the consumer must own itself, with the reason and where to set each instead."""


class FaultError(PresetsError):
    """A fault was asked for its kwargs; the message says how to repair the checkpoint."""


class RemoteCodeError(PresetsError):
    """The preset needs ``trust_remote_code=True`` and the caller did not opt in."""


class CheckpointError(PresetsError):
    """A file of the checkpoint is missing, unreadable or malformed."""
