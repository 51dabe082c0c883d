"""Exceptions of Unfold, each with the exit code of the command for the same error.

Messages are the same as those of the command: they say what is wrong, where, and what to do about it.
"""


class UnfoldError(Exception):
    """Base class of all exceptions of Unfold."""

    exit_code = 1


class RuntimeFailure(UnfoldError, RuntimeError):
    """An input or output operation failed, for example because of a full disk or a read-only folder."""


class UsageError(UnfoldError, ValueError):
    """An argument, SPEC or setting is invalid."""

    exit_code = 2


class DataError(UnfoldError, ValueError):
    """Data is invalid or does not match its format."""

    exit_code = 3


class DataNotFoundError(DataError, FileNotFoundError):
    """A data file does not exist."""


class DataPermissionError(DataError, PermissionError):
    """The permissions of a data file do not allow reading it."""


class ModelError(UnfoldError, ValueError):
    """A file is not a model, or the model does not support the operation."""

    exit_code = 4


class ModelNotFoundError(ModelError, FileNotFoundError):
    """A model file or run folder does not exist."""


class ModelPermissionError(ModelError, PermissionError):
    """The permissions of a model file or run folder do not allow reading it."""


class DivergedError(UnfoldError, ArithmeticError):
    """Training diverged and did not recover."""

    exit_code = 5


class VerificationError(UnfoldError, ValueError):
    """A checksum does not match, or decompression did not restore the original data."""

    exit_code = 6


class Interrupted(UnfoldError, KeyboardInterrupt):
    """The work was interrupted. Training writes a checkpoint first, if possible."""

    exit_code = 130
