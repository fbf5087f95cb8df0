"""Reads rendered kwargs back with a program's own code: ``python consumer_parsers.py NAME FOLDER``.

FOLDER holds the program's wheel, installed without what it needs to run. Where its modules cannot
be imported so, the functions in question are taken out of them. A JSON list of texts comes in, one
of what each was read as goes out.
"""

import ast
import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Any


def borrow(file: Path, *names: str, **given: Any) -> list[Any]:
    """Functions and classes of a module whose imports are not met, with ``given`` for them."""
    wanted = [n for n in ast.parse(file.read_text()).body if getattr(n, "name", "") in names]
    assert len(wanted) == len(names), f"{file}: not all of {names}"
    space = {**given, "__name__": file.stem}
    exec(compile(ast.Module(wanted, []), str(file), "exec"), space)
    return [space[name] for name in names]


def verl(folder: Path, text: str) -> Any:
    """Command-line words of vllm serve: Hydra on verl's own config, then verl's own converter."""
    import functools
    from typing import get_args

    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    _, build = borrow(
        folder / "verl/workers/rollout/vllm_rollout/utils.py",
        "_optional_bool_vllm_args",
        "build_cli_args_from_config",
        dataclasses=dataclasses,
        functools=functools,
        get_args=get_args,
        json=json,
        Any=Any,
    )
    with initialize_config_dir(str(folder / "verl/trainer/config"), version_base=None):
        config = compose("ppo_trainer", shlex.split(text))
    given = OmegaConf.to_container(config.actor_rollout_ref.rollout.engine_kwargs.vllm)
    return build({key: value for key, value in given.items() if value is not None})


def nemo_rl(_: Path, text: str) -> Any:
    """Hydra's own parser of overrides: the program itself is not on the package index."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    found = {}
    for override in OverridesParser.create().parse_overrides(shlex.split(text)):
        assert override.is_force_add()
        path = override.key_or_group.replace("policy.hf_config_overrides", "hf_overrides")
        found[path.removeprefix("policy.generation.vllm_kwargs.")] = override.value()
    return found


def skyrl(folder: Path, text: str) -> Any:
    """What SkyRL reads its command line with, and how it takes the kwargs from it."""
    from omegaconf import OmegaConf

    source = (folder / "skyrl/train/config/config.py").read_text()
    assert "overrides = OmegaConf.from_cli(args)" in source
    assert "engine_init_kwargs: Dict[str, Any]" in source
    config = OmegaConf.from_cli(shlex.split(text))
    return OmegaConf.to_container(config.generator.inference_engine.engine_init_kwargs)


def ms_swift(folder: Path, text: str) -> Any:
    import os
    from typing import Union

    given = {"os": os, "json": json, "Union": Union, "Dict": dict}
    (parse,) = borrow(folder / "swift/utils/utils.py", "json_parse_to_dict", **given)
    option, value = shlex.split(text)
    assert option == "--vllm_engine_kwargs"
    return parse(value)


def llama_factory(folder: Path, text: str) -> Any:
    """Its file reader, then its own dataclass."""
    from omegaconf import OmegaConf

    source = (folder / "llamafactory/hparams/parser.py").read_text()
    assert "OmegaConf.load(" in source
    assert "OmegaConf.to_container(" in source
    config = OmegaConf.to_container(OmegaConf.create(text))
    (arguments,) = borrow(
        folder / "llamafactory/hparams/model_args.py",
        "VllmArguments",
        dataclass=dataclasses.dataclass,
        field=dataclasses.field,
        Literal=None,
    )
    return arguments(vllm_config=config["vllm_config"]).vllm_config


def lm_eval(_: Path, text: str) -> Any:
    import argparse

    from lm_eval._cli.utils import MergeDictAction

    parser = argparse.ArgumentParser()
    parser.add_argument("--model_args", default=None, nargs="+", action=MergeDictAction)
    option, *words = shlex.split(text)
    return parser.parse_args([option, "pretrained=m", *words]).model_args


def inspect_ai(_: Path, text: str) -> Any:
    """Command-line words of vllm serve, as Inspect would start it."""
    import contextlib
    import logging
    import os

    from inspect_ai._util import local_server

    started = []

    def launch(command: list[str], **_: Any) -> Any:
        started.extend(command)
        raise RuntimeError("seen")

    local_server.launch_server_cmd = launch
    name, _, value = shlex.split(text)[0].partition("=")
    os.environ[name] = value
    given = local_server.merge_env_server_args(name, {}, logging.getLogger())
    with contextlib.suppress(RuntimeError):
        local_server.start_local_server(["vllm", "serve", "m"], "h", server_args=given)
    return started[3:]


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    sys.path.insert(0, str(folder))
    parse = globals()[name.replace("-", "_")]
    print(json.dumps([parse(folder, text) for text in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
