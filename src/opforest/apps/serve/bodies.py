"""Bodies of requests and of some answers.

Elements of long lists are checked later, outside the event loop, where errors can name the row.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from opforest.apps.serve.examples import MAX_FOUND

#: Text and null are allowed only in a store that prepares its rows.
CELL = {"type": ["number", "string", "null"]}
ROW = {"oneOf": [{"type": "array", "items": CELL},
                 {"type": "object", "additionalProperties": CELL}]}  # fmt: skip
#: Null is allowed only in a semi-supervised store.
LABEL = {"type": ["string", "number", "boolean", "null"]}

Row = Annotated[list[Any] | dict[str, Any], WithJsonSchema(ROW)]
Rows = Annotated[list[Any], WithJsonSchema({"type": "array", "items": ROW})]
Labels = Annotated[list[Any], WithJsonSchema({"type": "array", "items": LABEL})]
Keys = Annotated[list[Any], WithJsonSchema({"type": "array", "items": {"type": "string"}})]
Flag = Annotated[bool | None, WithJsonSchema({"type": "boolean", "default": False})]


class Body(BaseModel):
    """A JSON object with no members but its own; values are not converted."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Learn(Body):
    """Examples to learn."""

    rows: Rows = Field(examples=[[[5.1, 3.5], [6.2, 2.9]]])
    labels: Labels = Field(examples=[["cat", "dog"]])
    keys: Keys | None = Field(None, examples=[["img-1", "img-2"]])
    replace: Flag = None


class Predict(Body):
    """Rows to predict."""

    rows: Rows = Field(examples=[[[5.0, 3.4]]])
    proba: Flag = Field(None, examples=[True])


class Explain(Body):
    """A row to explain."""

    row: Row = Field(examples=[[5.0, 3.4]])


class Forget(Body):
    """Keys of examples to forget."""

    keys: Keys = Field(examples=[["img-1"]])
    missing_ok: Flag = None


class Correct(Body):
    """A new label of an example."""

    key: str = Field(examples=["img-2"])
    label: str | int | float | bool = Field(examples=["cat"])


class Search(Body):
    """The beginning of the keys of examples to find."""

    key: str = Field(examples=["img-"])
    n: int = Field(20, ge=1, le=MAX_FOUND, examples=[20])


class Example(BaseModel):
    """An example of the store."""

    key: str
    row: list[float | str | None] = Field(description="Its features, as they were learned.")
    label: str | int | float | bool | None
    time: int = Field(description="When it was learned, in microseconds since 1970.")


class SearchResult(BaseModel):
    """The examples found, by key."""

    examples: list[Example]


class SuspectVoter(BaseModel):
    """An example that votes on the label of another one."""

    key: str | None
    label: str | int | float | bool
    offer: float | None
    weight: float


class Suspect(BaseModel):
    """An example whose label is probably wrong."""

    key: str
    row: list[float | str | None] = Field(description="Its features, as they were learned.")
    label: str | int | float | bool
    suggested: str | int | float | bool
    probability: float = Field(description="The probability of the suggested label.")
    given_probability: float = Field(description="The probability of its label.")
    voters: list[SuspectVoter] = Field(description="The reason, the cheapest offer first.")


class Suspects(BaseModel):
    """The examples whose labels are probably wrong, the most suspicious first."""

    suspects: list[Suspect]
