"""What importing the package and asking for a preset loads, and what it does not."""

import subprocess
import sys

HEAVY = ["torch", "vllm", "transformers", "pydantic", "numpy", "click", "rich", "huggingface_hub"]


def loaded(code: str) -> set[str]:
    code += "\nimport sys\nprint(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_asking_for_a_preset_loads_nothing_heavy() -> None:
    modules = loaded("import presets\npresets.get('gemma4-text', vllm='0.32.0')")
    assert "presets" in modules
    assert not modules & set(HEAVY)


def test_checking_a_folder_loads_no_hub_client() -> None:
    code = "import presets\ntry: presets.check('/')\nexcept presets.CheckpointError: pass"
    assert not loaded(code) & set(HEAVY)


def test_merging_loads_nothing_heavy() -> None:
    code = (
        "import presets\n"
        "presets.merge('gemma4-text', '{\"hf_overrides\": {\"max_position_embeddings\": 9}}',"
        " 'trl-colocate', '0.32.0').explain()"
    )
    assert not loaded(code) & set(HEAVY)


def test_asking_for_a_preset_reads_no_engine_record() -> None:
    code = (
        "import presets, presets.arguments\n"
        "presets.get('gemma4-text', vllm='0.32.0')\n"
        "assert presets.arguments.recorded.cache_info().misses == 0"
    )
    loaded(code)


def test_every_public_name_is_there() -> None:
    import presets

    assert sorted(presets.__all__) == presets.__all__
    assert all(hasattr(presets, name) for name in presets.__all__)
