"""The options of `subscribe`, `Prepared.subscribe`, `register` and `validate`, each declared once.

An option is declared here by its name, its type, its default and its meaning, which `help` and the reference
show. `complete` checks the options of a call and returns all of them as one read-only value, which is passed
on as it is.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Any, TypedDict, TypeVar, cast

from rdflive.delivery.audit import Every, check_every
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
    """The options of `rdflive.validate`."""

    initial: Annotated[bool, True, "Whether the first delta holds the current answer."]
    name: Annotated[
        "str | None", None, "The name in logs and displays; with `resume`, the subscriber in the file."
    ]
    resume: Annotated[
        "str | os.PathLike[str] | None",
        None,
        "The path of a file, created if it is missing, by which the subscriber `name` continues after a "
        "restart.",
    ]
    on_error: Annotated[
        OnError,
        "log",
        'What follows an exception of the callback: "log", "ignore", or a function that takes the '
        "subscription and the exception.",
    ]
    entailment: Annotated[
        "str | None",
        None,
        'With "rdfs", the query is answered over everything that the graph entails by subclasses, '
        "subproperties, domains and ranges, while data and schema change.",
    ]
    rules: Annotated[
        "Rules | None",
        None,
        'Rules for the entailment: the name of a rule set ("rdfs", "rdfs-plus", "owl-rl"), N3 text, the '
        'path of a file, or several of them. Here "rdfs" is RDFS with its axioms and `rdfs:Resource`, '
        "which entails more and costs more.",
    ]
    strategy: Annotated[
        Strategy,
        "auto",
        'The method of entailment: "saturate" stores the entailed triples that the query can match, with '
        'their supports; "reformulate" looks them up in the graph; "auto" decides per class and property '
        "by cost.",
    ]
    counts: Annotated[
        "Counts | None",
        None,
        'With "paths", entailed triples count their derivations in place of their supports; this needs a '
        "schema without cycles.",
    ]
    throttle: Annotated[
        "DurationLike | None",
        None,
        'A duration such as "1s" for which deltas are merged before each call, by default in a thread of '
        "its own.",
    ]
    executor: Annotated[
        "Executor | None",
        None,
        "Threads of `concurrent.futures` that call a plain callback; the write does not wait for it.",
    ]
    key: Annotated[
        "Iterable[str] | None",
        None,
        'Variables that SELECT shows, such as `("train",)`: `delta.changed` pairs the removed and the '
        "added row of a key, and `added` and `removed` hold the other rows. Several removed or added rows "
        "of a key are not paired.",
    ]


class ContinuousOptions(ValidationOptions, total=False):
    """The options of `rdflive.register`."""

    algorithm: Annotated[Algorithm, "auto", "One of `rdflive.ALGORITHMS`, in place of the planner's choice."]
    provenance: Annotated[
        bool,
        False,
        "Whether each solution of a delta has an `origin`, which says if it was inferred when it "
        "appeared, and by which rules; this needs a SELECT of one basic graph pattern.",
    ]
    expiry: Annotated[
        Expiry, "auto", "How entailed triples leave a window with their premises; the answers are the same."
    ]
    expires: Annotated[
        bool,
        False,
        "Whether each added solution has the time of its removal from the window, `solution.expires`.",
    ]
    budget: Annotated[
        "Budget | None",
        None,
        "Limits of time and memory. A commit or a start that would exceed them ends the subscription: "
        "`on_error` gets the `BudgetError`, iterators end, and the write stands. Regular expressions must "
        "then be constants, and need google-re2.",
    ]


class Options(ContinuousOptions, total=False):
    """The options of `rdflive.subscribe` and of `rdflive.Prepared.subscribe`."""

    window: Annotated[
        "Window | None", None, "The window of a stream: `Sliding`, `Tumbling`, `Count` or `Landmark`."
    ]
    output: Annotated[
        Output,
        "delta",
        'What a window reports: "delta", "istream" (added solutions), "dstream" (removed solutions) or '
        '"rstream" (the full answer at each report).',
    ]
    audit: Annotated[
        "Every | None",
        None,
        "Number of commits after which a thread compares the kept answer with an evaluation by the store's "
        'own engine, as `Subscription.audit` does; "auto" keeps the cost below 2 % of the processor time.',
    ]
    clock: Annotated[
        Clock,
        SYSTEM_CLOCK,
        "The value of NOW(): a function that returns seconds since 1970 or a datetime with a time zone, "
        "such as a `ManualClock`. By default the clock of the system.",
    ]


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
    check_every(options.get("audit"))
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
    """Make `help` and completion list the options of a function that takes them as `**options`.

    `help` also shows what each option means, after the docstring of the function.
    """
    listed = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=option.__metadata__[0], annotation=_shown(option)
        )
        for name, option in kind.__annotations__.items()
    ]

    meanings = "".join(
        f"\n    {name}: {option.__metadata__[1]}" for name, option in kind.__annotations__.items()
    )

    def decorate(function: AnyFunction) -> AnyFunction:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=[*own, *listed])  # type: ignore[attr-defined]  # of functions
        if function.__doc__:  # python -OO has none
            function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:{meanings}\n"
        return function

    return decorate


def _shown(option: Any) -> str:
    """Return the type of an option, with the accepted words if it has some."""
    kind = option.__origin__
    text = getattr(kind, "__forward_arg__", None) or (kind.__name__ if isinstance(kind, type) else str(kind))
    return str(text).replace("typing.", "")
