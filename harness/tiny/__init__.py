"""Tiny checkpoints: healthy ones by family, and the defects that are applied to them."""

from harness.tiny.builder import build, damage, fingerprint
from harness.tiny.defects import DEFECTS
from harness.tiny.families import FAMILIES

__all__ = ["DEFECTS", "FAMILIES", "build", "damage", "fingerprint"]
