"""Every error the harness raises, under one root.

HarnessError
├── UnknownFamilyError   a claim names a checkpoint that no builder makes
├── UnknownDefectError   a claim names a defect that does not exist or does not fit
├── WorkerError          a helper job (build, reference, probe) died or failed
└── HubError             a Hub checkpoint cannot be had here (gated, missing, offline)
"""


class HarnessError(Exception):
    """Root of all errors raised by ``harness``."""


class UnknownFamilyError(HarnessError):
    """A claim names a checkpoint that no builder makes."""


class UnknownDefectError(HarnessError):
    """A claim names a defect that does not exist, or one that does not fit the checkpoint."""


class WorkerError(HarnessError):
    """A job in a child process (build, reference, probe) died or failed."""


class HubError(HarnessError):
    """A Hub checkpoint cannot be had here: gated, missing, or no network."""
