"""An update that a guard refuses: why, as JSON and as a report."""

from __future__ import annotations

from typing import Any

from rdflive.errors import ValidationError
from rdflive.server.failures import Problem
from rdflive.sinks.ndjson import to_json

__all__ = ["Refused"]


class Refused(Problem):
    """A guard refuses an update, which would add results."""

    def __init__(self, error: ValidationError) -> None:
        super().__init__(422, str(error))
        # without what it was raised in, which Oxigraph must free in the thread that wrote
        self.error = ValidationError.joined([error])

    def members(self) -> dict[str, Any]:
        """Give the members of the problem document; results are as those of the validation."""
        rows = [row.asdict().items() for row in self.error.results]
        return {**super().members(), "results": [{name: to_json(term) for name, term in row} for row in rows]}
