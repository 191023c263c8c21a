"""The options of `subscribe`, `Prepared.subscribe`, `register` and `validate`, each declared once.

An option is one line here: its name, its type and its default. `complete` checks the options of a call and
returns all of them as one read-only value, which is passed on as it is.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Any, TypedDict, TypeVar, cast

from rdflive.delivery.calling import Callback
from rdflive.delivery.question import read_key
from rdflive.delivery.relay import Receiver
from rdflive.delivery.subscription import OnError
from rdflive.entail.regimes import Counts, Rules, Strategy
from rdflive.query.budget import Budget
from rdflive.query.segment import Algorithm
from rdflive.signatures import misfit
from rdflive.time.clock import SYSTEM_CLOCK, Clock
from rdflive.time.expiry import Expiry
from rdflive.time.instants import DurationLike
from rdflive.time.windowed import Output
from rdflive.time.windows import Window

__all__ = [
    "ContinuousOptions",
    "Options",
    "ValidationOptions",
    "complete",
    "receiver_of",
    "shows_options",
]

AnyOptions = TypeVar("AnyOptions", bound="ValidationOptions")
AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class ValidationOptions(TypedDict, total=False):
    """The options of `rdflive.validate`; `rdflive.subscribe` says what each means."""

    initial: Annotated[bool, True]
    name: Annotated["str | None", None]
    resume: Annotated["str | os.PathLike[str] | None", None]
    on_error: Annotated[OnError, "log"]
    entailment: Annotated["str | None", None]
    rules: Annotated["Rules | None", None]
    strategy: Annotated[Strategy, "auto"]
    counts: Annotated["Counts | None", None]
    throttle: Annotated["DurationLike | None", None]
    executor: Annotated["Executor | None", None]
    key: Annotated["Iterable[str] | None", None]


class ContinuousOptions(ValidationOptions, total=False):
    """The options of `rdflive.register`; `rdflive.subscribe` says what each means."""

    algorithm: Annotated[Algorithm, "auto"]
    provenance: Annotated[bool, False]
    expiry: Annotated[Expiry, "auto"]
    expires: Annotated[bool, False]
    budget: Annotated["Budget | None", None]


class Options(ContinuousOptions, total=False):
    """The options of `rdflive.subscribe`, which says what each means."""

    window: Annotated["Window | None", None]
    output: Annotated[Output, "delta"]
    clock: Annotated[Clock, SYSTEM_CLOCK]


def complete(kind: type[AnyOptions], given: Mapping[str, Any], function: str) -> AnyOptions:
    """Return all options of a call, read-only: the given ones, and the defaults of the others.

    Raises TypeError for an unknown name, and TypeError or ValueError for an invalid value.

    >>> complete(Options, {"name": "board"}, "subscribe")["initial"]
    True
    >>> complete(Options, {"entailmnt": "rdfs"}, "subscribe")
    Traceback (most recent call last):
    TypeError: subscribe() got an unexpected keyword argument 'entailmnt'; did you mean 'entailment'?
    """
    defaults = {name: option.__metadata__[0] for name, option in kind.__annotations__.items()}
    for name in given:
        if name not in defaults:
            near = get_close_matches(name, defaults, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
    options = {**defaults, **given}
    resume, name, budget = options["resume"], options["name"], options.get("budget")
    if resume is not None and not (name and isinstance(name, str)):
        raise ValueError(f"resume needs the name of the subscriber in the file {resume!r}, got name={name!r}")
    if budget is not None and not isinstance(budget, Budget):
        raise TypeError(f"budget must be an rdflive.Budget, as Budget(), got {budget!r}")
    clock = options.get("clock", SYSTEM_CLOCK)
    if not callable(clock) or misfit(clock):
        raise TypeError(
            f"clock must be a function without arguments that returns seconds since 1970, got {clock!r}"
        )
    options["key"] = read_key(options["key"]) or None  # read here, because an iterable can be read only once
    return cast(AnyOptions, MappingProxyType(options))


def receiver_of(callback: Callback | None, options: ValidationOptions) -> Receiver:
    """Return the receiver that the options describe; raises what `Receiver.checked` raises."""
    return Receiver.checked(
        callback,
        initial=options["initial"],
        name=options["name"],
        on_error=options["on_error"],
        throttle=options["throttle"],
        executor=options["executor"],
    )


def shows_options(kind: type[ValidationOptions]) -> Callable[[AnyFunction], AnyFunction]:
    """Make `help` and completion list the options of a function that takes them as `**options`."""
    listed = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=option.__metadata__[0], annotation=_shown(option)
        )
        for name, option in kind.__annotations__.items()
    ]

    def decorate(function: AnyFunction) -> AnyFunction:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=[*own, *listed])  # type: ignore[attr-defined]  # of functions
        return function

    return decorate


def _shown(option: Any) -> str:
    """Return the type of an option, with the accepted words if it has some."""
    kind = option.__origin__
    text = getattr(kind, "__forward_arg__", None) or (kind.__name__ if isinstance(kind, type) else str(kind))
    return str(text).replace("typing.", "")
