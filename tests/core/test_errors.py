"""One tree of errors, told apart by what the user can do about them."""

import inspect

import pytest

from headway.core import errors

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_is_of_the_one_tree_and_says_what_it_means(kind: type[Exception]) -> None:
    assert issubclass(kind, errors.HeadwayError)
    assert kind.__doc__
    assert kind.__name__ == "HeadwayError" or kind.__name__ in (errors.__doc__ or "")


def test_what_a_user_can_mend_is_not_what_the_world_did() -> None:
    """The command line gives the first exit code 2 and the second 1."""
    assert issubclass(errors.IllegalMoveError, errors.InvalidInputError)
    assert not issubclass(errors.UnavailableError, errors.InvalidInputError)
    assert not issubclass(errors.InvalidInputError, errors.UnavailableError)
