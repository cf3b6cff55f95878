"""Forms of JSON files: what docaps stored is checked when it is read back, since it may be damaged or made by others.

A value of another type is refused here, with its file and place, and not where it is used.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from docaps.config.faults import describe_faults
from docaps.errors import DocapsError

Natural = Annotated[int, Field(ge=0, lt=2**63)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class StoredForm(BaseModel):
    """Base of all forms: what is given must be of the right type; other keys may be there too."""

    model_config = ConfigDict(strict=True, extra="allow")


def check_form(found: Any, form: type[StoredForm], path: Path, *, error: type[DocapsError]) -> dict[str, Any]:
    """Return the content of a file if it has a form; raise `error` with all faults if it has not."""
    try:
        form.model_validate(found)
    except ValidationError as fault:
        raise error(f"not in the expected form:\n{describe_faults(fault, form)}", path=path) from None
    return dict(found)
