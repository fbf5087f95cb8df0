"""The command line, as far as it goes without an engine."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from harness.cli import main


@pytest.mark.parametrize("arguments", [[], ["gemma4-text", "--all"], ["gemma4-text", "--resume"]])
def test_usage_errors_come_before_the_engine_starts(arguments):
    result = CliRunner().invoke(main, ["verify", *arguments])
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_importing_the_command_loads_no_engine():
    code = "import harness.cli, sys; print(*{'vllm', 'torch', 'transformers'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
