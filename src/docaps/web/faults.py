"""What a client is told when there is no answer: a message, never a traceback."""

from collections.abc import Mapping, Sequence

from docaps.errors import DocapsError
from docaps.web.messages import Detail, Fault, dump


class RefusalError(DocapsError):
    """A request that is not answered, with the status of HTTP that says so."""

    def __init__(
        self,
        status: int,
        message: str,
        details: Sequence[Detail] | None = None,
        *,
        retry: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.details = None if details is None else list(details)
        self.headers = dict(headers or {}) | ({} if retry is None else {"Retry-After": str(retry)})

    @property
    def body(self) -> str:
        """The answer as JSON."""
        return dump(Fault(error=str(self), details=self.details))
