"""A preset's ``hf_overrides`` and a caller's callable ones, as one callable.

Imports nothing of the engine: what it needs of a config it asks of the config.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from presets.errors import ContradictionError, KwargsError
from presets.tree import MISSING, copied, dig, holds

_BASES = frozenset({"PretrainedConfig", "PreTrainedConfig"})


class ComposedOverrides(Struct, frozen=True):
    """Applies ``overrides`` to a config as vLLM would, then calls ``then`` with it.

    Pickles whenever ``then`` does. With speculative decoding, vLLM (0.28.0 and newer) applies
    a callable to the draft model's config as well, which a mapping would not be.
    """

    overrides: dict[str, Any]
    then: Callable[[Any], Any]
    essential: dict[tuple[str, ...], Any]
    """What must hold afterwards, by path into the config."""
    preset: str
    """The name of the preset which asks for that."""

    def __call__(self, config: Any) -> Any:
        apply(config, self.overrides)
        if is_dummy(config):
            return self._probe(config)
        result = self.then(config)
        if result is None:
            raise KwargsError("hf_overrides: the callable returned None; it must return the config")
        problems = [
            f"{'.'.join(('hf_overrides', *path))}: the preset {self.preset!r} needs {value!r}, "
            f"and the callable hf_overrides left {_shown(_read(result, path))}"
            for path, value in self.essential.items()
            if not holds(value, _read(result, path))
        ]
        if problems:
            raise ContradictionError(problems)
        return result

    def _probe(self, config: Any) -> Any:
        """VLLM only wants to see which ``model_type`` comes out; a callable written for the
        real config may well fail on a config that has nothing else.
        """
        try:
            result = self.then(config)
        except (AttributeError, LookupError, TypeError):
            return config
        return config if result is None else result


def is_dummy(config: Any) -> bool:
    """Whether it is the config that vLLM 0.18.0 and newer call callable overrides with first.

    It is a bare ``PreTrainedConfig(architectures=[""], model_type="dummy_...")``.
    """
    return type(config).__name__ in _BASES and str(getattr(config, "model_type", "")).startswith(
        "dummy_"
    )


def apply(config: Any, overrides: Mapping[str, Any]) -> None:
    """Set ``overrides`` on a config the way vLLM does for a mapping.

    A mapping over a sub-config merges into it; anything else replaces the attribute.
    """
    for key, value in overrides.items():
        below = getattr(config, key, None)
        if isinstance(value, Mapping) and _is_config(below):
            _update(below, value)
        else:
            setattr(config, key, copied(value))


def _update(target: Any, updates: Mapping[str, Any]) -> None:
    for key, value in updates.items():
        below = target.get(key) if isinstance(target, dict) else getattr(target, key, None)
        if isinstance(value, Mapping) and (isinstance(below, dict) or hasattr(below, "__dict__")):
            _update(below, value)
        elif isinstance(target, dict):
            target[key] = copied(value)
        else:
            setattr(target, key, copied(value))


def _is_config(value: Any) -> bool:
    return any(base.__name__ in _BASES for base in type(value).__mro__)


def _read(config: Any, path: tuple[str, ...]) -> Any:
    for index, part in enumerate(path):
        if isinstance(config, Mapping):
            return dig(config, path[index:])
        config = getattr(config, part, MISSING)
    if _is_config(config):
        return config.to_dict()
    return config


def _shown(value: Any) -> str:
    return "nothing there" if value is MISSING else repr(value)
