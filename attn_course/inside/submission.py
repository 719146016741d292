"""A submission: something that holds a learner's answers and can be asked to use them.

A check never touches a learner's function itself. It sends a request and receives a response,
both of plain values only (see `wire`), so the same check serves a function in the learner's own
notebook (`LocalSubmission`), one behind a serialising proxy (`SerialisedSubmission`, in the
tests) and one in a sandboxed process (the grader). The requests:

| op         | payload                            | answer                                     |
|------------|------------------------------------|--------------------------------------------|
| call       | name, args, kwargs                 | what the function returns                  |
| value      | name                               | the value of the variable                  |
| construct  | name, kwargs                       | a number that stands for the new module    |
| parameters | module                             | {name: shape}                              |
| load       | module, parameters {name: array}   | None                                       |
| forward    | module, args                       | what the module returns                    |
| vjp        | module, args, cotangent            | {parameter name: gradient}                 |

A response is `{"value": …}`, or `{"raised": {"type": …, "message": …, "line": …}}` with the
learner's own line where it is known, or `{"missing": True}` where there is no answer of that name.
"""

import sysconfig
import traceback
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, Protocol

import numpy as np

from attn_course.inside.wire import NotPlain, Plain, pack, unpack


class Submission(Protocol):
    """Anything that answers requests."""

    def request(self, op: str, payload: dict[str, Plain]) -> dict[str, Plain]:
        """Carry out one request and return its response; never raise for the learner's faults."""
        ...


class LocalSubmission:
    """Answers that live in this process: `LocalSubmission({"softmax": softmax})`."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers
        self._modules: list[Any] = []

    def answer(self, name: str) -> Any:
        """Return an answer itself, for who may look at its source; None where there is none."""
        return self._answers.get(name)

    def request(self, op: str, payload: dict[str, Plain]) -> dict[str, Plain]:
        """Carry out one request."""
        if "name" in payload and payload["name"] not in self._answers:
            return {"missing": True}
        try:
            # Through the wire and back: the learner's code gets copies, never the check's arrays.
            copies = unpack(pack(payload))
            with warnings.catch_warnings():  # the numbers show an overflow
                warnings.simplefilter("ignore")
                value = getattr(self, f"_{op}")(**copies)
            return unpack(pack({"value": value}))
        except NotPlain as fault:
            return _raised("TypeError", str(fault))
        except (Exception, SystemExit) as fault:  # also an exit() left in the learner's code
            return _raised(type(fault).__name__, message_of(fault), _line_of(fault))

    def _call(self, name: str, args: tuple[Plain, ...], kwargs: dict[str, Plain]) -> Plain:
        return self._answers[name](*args, **kwargs)

    def _value(self, name: str) -> Plain:
        return self._answers[name]

    def _construct(self, name: str, kwargs: dict[str, Plain]) -> int:
        self._modules.append(self._answers[name](**kwargs))
        return len(self._modules) - 1

    def _parameters(self, module: int) -> dict[str, tuple[int, ...]]:
        named = self._modules[module].named_parameters()
        return {name: tuple(parameter.shape) for name, parameter in named}

    def _load(self, module: int, parameters: dict[str, np.ndarray]) -> None:
        import torch

        with torch.no_grad():
            for name, parameter in self._modules[module].named_parameters():
                parameter.copy_(torch.as_tensor(parameters[name]))

    def _forward(self, module: int, args: tuple[Plain, ...]) -> Plain:
        return self._modules[module](*args)

    def _vjp(self, module: int, args: tuple[Plain, ...], cotangent: Any) -> dict[str, np.ndarray]:
        import torch

        target = self._modules[module]
        named = dict(target.named_parameters())
        output = target(*args)
        if isinstance(output, list | tuple):  # (context, weights): the context has the gradient
            output = output[0]
        gradients: tuple[Any, ...] = (None,) * len(named)
        if named and isinstance(output, torch.Tensor) and output.requires_grad:
            # Of the sum, and not with grad_outputs: that loads SymPy, which takes half a second.
            along = (output * torch.as_tensor(cotangent).to(output)).sum()
            gradients = torch.autograd.grad(along, list(named.values()), allow_unused=True)
        return {  # what does not depend on a parameter has the gradient 0
            name: np.zeros(tuple(parameter.shape)) if gradient is None else gradient.numpy()
            for (name, parameter), gradient in zip(named.items(), gradients, strict=True)
        }


class FirstPrints:
    """Another submission that prints once: what its first call with any output printed.

    A check calls an answer many times, and a `print` left in it would fill the screen.
    """

    def __init__(self, inner: Submission) -> None:
        self._inner = inner
        self.printed = ""

    def answer(self, name: str) -> Any:
        """Return an answer itself, if it lives in this process."""
        return self._inner.answer(name) if isinstance(self._inner, LocalSubmission) else None

    def request(self, op: str, payload: dict[str, Plain]) -> dict[str, Plain]:
        """Pass the request on; keep what it prints."""
        printed = StringIO()
        with redirect_stdout(printed):
            response = self._inner.request(op, payload)
        self.printed = self.printed or printed.getvalue()
        return response


class SerialisedSubmission:
    """Another submission behind the wire: proves that a check needs nothing but plain values."""

    def __init__(self, inner: Submission) -> None:
        self._inner = inner

    def request(self, op: str, payload: dict[str, Plain]) -> dict[str, Plain]:
        """Pass the request on as bytes, and the response back as bytes."""
        message = pack([op, payload])
        op, payload = unpack(message)
        return unpack(pack(self._inner.request(op, payload)))


def _raised(kind: str, message: str, line: str = "") -> dict[str, Plain]:
    texts = {"type": _clean(kind, 200), "message": _clean(message, 2000)}
    return {"raised": {**texts, "line": _clean(line, 500)}}


def _clean(text: str, longest: int) -> str:
    """Return text that can be handed over: not too long, and no half characters."""
    return text[:longest].encode(errors="replace").decode()


def message_of(fault: BaseException) -> str:
    """Return the text of an exception; nothing where its class is at fault itself."""
    try:
        return str(fault)
    except Exception:
        return ""


def _line_of(fault: BaseException) -> str:
    """Return the last line of the learner's own source on the way to the fault, if known."""
    libraries = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "<frozen")
    own = [
        frame
        for frame in traceback.extract_tb(fault.__traceback__)
        if frame.filename != __file__
        and not frame.filename.startswith(libraries)
        and "site-packages" not in frame.filename
    ]
    return (own[-1].line or "") if own else ""
