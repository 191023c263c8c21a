"""Hook of mkdocs: replace `<!-- http api -->` on a page by the paths of the server's OpenAPI description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from rdflive.server.openapi import describe_api

PLACE = "<!-- http api -->"


def on_page_markdown(markdown: str, **_: object) -> str:
    """Write a section for each method of each path, and one for errors."""
    return markdown.replace(PLACE, "\n".join(sections())) if PLACE in markdown else markdown


def sections() -> Iterator[str]:
    """Yield the lines of all sections."""
    errors: dict[str, Counter[str]] = {}
    for path, operations in describe_api()["paths"].items():
        for method, operation in operations.items():
            yield f"### {method.upper()} `{path}`\n\n{operation['summary']}.\n"
            yield from parameters([target(each) for each in operation.get("parameters", ())])
            yield from bodies(target(operation.get("requestBody", {})).get("content", {}))
            responses = {status: target(answer) for status, answer in operation["responses"].items()}
            yield from answers(responses)
            for status, answer in responses.items():
                errors.setdefault(status, Counter())[answer["description"]] += 1
    yield "### Errors\n\n| status | means |\n|---|---|"
    for status in filter(is_error, sorted(errors)):
        yield f"| {status} | {errors[status].most_common(1)[0][0]} |"


def target(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the component that a part refers to, or the part itself."""
    place = part.get("$ref")
    return reduce(getitem, place.removeprefix("#/").split("/"), describe_api()) if place else part


def is_error(status: str) -> bool:
    """Return True for the status of an error."""
    return status >= "400"


def parameters(listed: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of the parameters."""
    if listed:
        yield "| parameter | in | means |\n|---|---|---|"
        for each in listed:
            needed = ", required" if each.get("required") else ""
            yield f"| `{each['name']}` | {each['in']}{needed} | {each.get('description', '')} |"
        yield ""


def bodies(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of the request bodies."""
    if content:
        yield "| body | fields |\n|---|---|"
        for kind, body in content.items():
            fields = body.get("schema", {}).get("properties", {})
            yield f"| `{kind}` | {', '.join(f'`{name}`' for name in fields) or 'the text itself'} |"
        yield ""


def answers(responses: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of the answers, and the list of errors."""
    yield "| answer | means | as |\n|---|---|---|"
    for status, answer in responses.items():
        if not is_error(status):
            kinds = ", ".join(f"`{kind}`" for kind in answer.get("content", {}))
            yield f"| {status} | {answer['description'].rstrip('.')} | {kinds} |"
    listed = ", ".join(filter(is_error, responses))
    yield f"\n[Errors](#errors): {listed}.\n" if listed else ""
