"""What an audit of a store found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Audit:
    """Whether a store is whole, and its model exactly what refitting on the table gives.

    Attributes
    ----------
    examples : int
        How many examples were looked at.
    damage : tuple of str
        What is wrong with the file.
    differences : tuple of str
        Arrays of the model that differ from those of a model trained on the table.

    Examples
    --------
    >>> import opforest
    >>> with opforest.Learner(":memory:") as learner:
    ...     _ = learner.learn([[0.0], [1.0], [3.0]], ["low", "low", "high"])
    ...     print(learner.audit())
    3 examples: the file is whole, and the model is exactly what refitting on the table gives
    """

    examples: int
    damage: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.damage or self.differences)

    def __str__(self) -> str:
        """Return it in a sentence."""
        file = "the file is whole"
        if self.damage:
            file = f"THE FILE IS DAMAGED ({'; '.join(self.damage[:5])})"
        model = "the model is exactly what refitting on the table gives"
        if self.differences:
            model = (
                f"THE MODEL DIFFERS from refitting on the table in {', '.join(self.differences)}"
            )
        return f"{self.examples} examples: {file}, and {model}"
