"""What can go wrong while connecting or fetching a table; each error is also the built-in one that fits.

Tuner.resolve() raises only ValueError and TypeError, for arguments that are no problem of the kernel.
"""


class Error(Exception):
    """Any error of the client; the message says what, which key, and what to do next."""


class InvalidArgumentError(Error, ValueError):
    """An argument that makes no sense, whatever the daemon knows."""


class NotFoundError(Error, LookupError):
    """An unknown kernel, device, specialisation or digest; the message lists what is known."""


class FailedPreconditionError(Error, RuntimeError):
    """Several tables fit, or the table does not: the message lists the choices."""


class UnavailableError(Error, ConnectionError):
    """The daemon cannot be reached, and nothing is cached."""


class DeadlineExceededError(UnavailableError, TimeoutError):
    """The daemon did not answer in time."""


class PermissionDeniedError(Error, PermissionError):
    """The socket or a file may not be used."""


class AlreadyExistsError(Error, FileExistsError):
    """What would be written is there already, and is never overwritten."""


class DataLossError(Error, RuntimeError):
    """A table is damaged: its bytes are not what its digest says."""


class FallbackWarning(UserWarning):
    """Something is launched as if WaveTune were not there; the message says why and what to do. Once for each cause."""
