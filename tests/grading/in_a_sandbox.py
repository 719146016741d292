"""Run a few lines in a sandbox and see what came of it."""

from textwrap import dedent

from attn_course.inside.notebook import Cell


def cells(*sources):
    return [Cell(number, "code", dedent(source)) for number, source in enumerate(sources, start=1)]


def open_with(sandbox, source, *names):
    return sandbox.open(cells(source), names or ["f"])


def call(submission, name="f", *args):
    return submission.request("call", {"name": name, "args": args, "kwargs": {}})


def ask(sandbox, source, *args):
    """Return the response of `f(*args)`, where `source` defines f, and the verdict."""
    with open_with(sandbox, source) as submission:
        return call(submission, "f", *args), submission.verdict


def value_of(sandbox, source, *args):
    response, verdict = ask(sandbox, source, *args)
    assert verdict is None, response
    assert "value" in response, response
    return response["value"]


def error_of(sandbox, source, *args):
    """Return the type of the exception that `f(*args)` raises."""
    response, verdict = ask(sandbox, source, *args)
    assert verdict is None, response
    assert "raised" in response, response
    return response["raised"]["type"]
