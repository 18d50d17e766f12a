"""What the fields of request bodies are made of."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _no_flag(value: Any) -> Any:  # whatever a user wrote
    """In YAML ``yes`` is a truth value, which Python takes for 1."""
    if isinstance(value, bool):
        raise ValueError(f"must be a number, not {str(value).lower()}")
    return value


A_NUMBER = BeforeValidator(_no_flag)
Number = Annotated[float, A_NUMBER]
Count = Annotated[int, Field(ge=1, le=1_000_000), A_NUMBER]
Examples = Annotated[int, Field(ge=1, le=2**40), A_NUMBER]
Text = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]


class Body(BaseModel):
    """Strict: a field that is not known is an error, not a surprise."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def span(low: str, high: str) -> BeforeValidator:
    """``2`` is both ends, ``"1-4"`` is from 1 to 4; anything else is left as it is."""

    def parse(value: Any) -> Any:  # whatever a user wrote
        if isinstance(value, int) and not isinstance(value, bool):
            return {low: value, high: value}
        if isinstance(value, str):
            first, dash, last = value.partition("-")
            try:
                return {low: int(first), high: int(last if dash else first)}
            except ValueError:
                raise ValueError(f"{value!r} is no range; write 4 or 1-4") from None
        return value

    return BeforeValidator(parse)
