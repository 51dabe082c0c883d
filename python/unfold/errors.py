"""The errors of Unfold, each with the exit code that the command gives for it.

Messages say what is wrong, where, and what to do about it; they are those of the command.
"""


class UnfoldError(Exception):
    """What all errors of Unfold are."""

    exit_code = 1


class RuntimeFailure(UnfoldError, RuntimeError):
    """Input or output failed: a full disk, a folder that cannot be written."""


class UsageError(UnfoldError, ValueError):
    """An argument, a SPEC or a setting that means nothing here."""

    exit_code = 2


class DataError(UnfoldError, ValueError):
    """Data that are not what they claim to be."""

    exit_code = 3


class ModelError(UnfoldError, ValueError):
    """A file that holds no model, or not one of the kind that is wanted."""

    exit_code = 4


class DivergedError(UnfoldError, ArithmeticError):
    """Training diverged and could not be rescued."""

    exit_code = 5


class VerificationError(UnfoldError, ValueError):
    """A checksum is wrong, or what was decoded is not what was coded."""

    exit_code = 6


class Interrupted(UnfoldError, KeyboardInterrupt):
    """Stopped in good order, after a checkpoint where there is one."""

    exit_code = 130
