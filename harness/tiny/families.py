"""Every family that has a tiny checkpoint. A new one is an entry of ``causal.py``,
``qwen_vl.py``, ``multimodal.py`` or ``encoders.py``; ``family.py`` says what its fields are.
"""

from harness.tiny import causal, encoders, multimodal, qwen_vl
from harness.tiny.family import Family

FAMILIES: dict[str, Family] = {
    **causal.FAMILIES,
    **qwen_vl.FAMILIES,
    **multimodal.FAMILIES,
    **encoders.FAMILIES,
}
