import statistics
import warnings

import numpy as np
import pytest
import torch

from attn_course.inside.submission import LocalSubmission, SerialisedSubmission
from attn_course.inside.wire import pack, unpack


def ask(answer, op="call", **payload):
    """Ask one thing of a submission that holds `answer` as "it"."""
    if op == "call":
        payload = {"args": (), "kwargs": {}} | payload
    return LocalSubmission({"it": answer}).request(op, {"name": "it", **payload})


def test_a_function_is_called_with_its_arguments():
    response = ask(lambda a, b=1: a - b, args=(np.arange(3.0),), kwargs={"b": 2})
    assert response["value"].tolist() == [-2.0, -1.0, 0.0]


def test_a_function_that_changes_its_input_changes_only_its_own_copy():
    handed_over = np.ones((2, 3))

    def spoil(array):
        array[:] = 0
        return array

    assert not ask(spoil, args=(handed_over,))["value"].any()
    assert handed_over.all()


def test_what_a_function_keeps_back_does_not_change_its_answer_later():
    kept = np.zeros(3)
    submission = LocalSubmission({"it": lambda: kept})
    first = submission.request("call", {"name": "it", "args": (), "kwargs": {}})
    kept += 1
    assert not first["value"].any()


def test_an_exception_is_told_with_type_message_and_the_learners_line():
    def divide(a):
        return a / missing  # noqa: F821

    assert ask(divide, args=(1,)) == {
        "raised": {
            "type": "NameError",
            "message": "name 'missing' is not defined",
            "line": "return a / missing  # noqa: F821",
        }
    }


def test_the_line_is_the_learners_own_where_a_library_raised():
    def mean():
        return statistics.mean([])

    def product():
        return torch.nn.functional.linear(torch.ones(2), torch.ones(3, 3))

    assert ask(mean)["raised"]["line"] == "return statistics.mean([])"
    assert ask(product)["raised"]["line"].startswith("return torch.nn.functional.linear")


def test_wrong_arguments_are_told_without_a_line():
    raised = ask(lambda a: a)["raised"]
    assert raised["type"] == "TypeError"
    assert "missing 1 required positional argument" in raised["message"]
    assert raised["line"] == ""


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError


def raises(fault):
    def it():
        raise fault

    return it


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (SystemExit(1), "SystemExit"),
        (SpeechlessError(), "SpeechlessError"),
        (ValueError("half a character: \ud800"), "ValueError"),
        (ValueError("long " * 10_000), "ValueError"),
        (RecursionError(), "RecursionError"),
    ],
    ids=lambda thing: getattr(thing, "__name__", type(thing).__name__),
)
def test_every_fault_of_the_learner_becomes_a_response_that_can_cross_the_wire(fault, kind):
    response = ask(raises(fault))
    assert response["raised"]["type"] == kind
    assert len(response["raised"]["message"]) <= 2000
    assert unpack(pack(response)) == response


def test_stopping_the_kernel_still_stops():
    with pytest.raises(KeyboardInterrupt):
        ask(raises(KeyboardInterrupt()))


def test_endless_recursion_is_told():
    def again():
        return again()

    assert ask(again)["raised"]["type"] == "RecursionError"


def test_a_result_that_is_not_plain_is_told_as_a_type_error():
    raised = ask(lambda: (x for x in ()))["raised"]
    assert raised["type"] == "TypeError"
    assert "generator" in raised["message"]


@pytest.mark.parametrize("action", ["ignore", "error", "always"])
def test_a_warning_in_the_learners_code_neither_shows_nor_raises(action):
    def overflows():
        return np.exp(np.array([1000.0]))

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        assert np.isinf(ask(overflows)["value"]).all()
    assert not seen


def test_a_value_is_handed_over():
    assert ask((2, 3), op="value") == {"value": (2, 3)}


@pytest.mark.parametrize(
    ("op", "payload"),
    [("call", {"args": (), "kwargs": {}}), ("value", {}), ("construct", {"kwargs": {}})],
)
def test_a_name_that_is_not_there_is_told_without_an_exception(op, payload):
    local = LocalSubmission({"it": 1})
    for submission in (local, SerialisedSubmission(local)):
        assert submission.request(op, {"name": "other", **payload}) == {"missing": True}


@pytest.mark.parametrize(("op", "payload"), [("call", {}), ("construct", {"kwargs": {}})])
def test_a_key_error_with_the_name_of_the_answer_was_raised_and_the_answer_is_there(op, payload):
    response = ask(raises(KeyError("it")), op, **payload)
    assert response == {
        "raised": {"type": "KeyError", "message": "'it'", "line": "raise fault"},
    }


def test_an_answer_of_none_is_there():
    assert ask(None, op="value") == {"value": None}


class Scale(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(width))
        self.unused = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.factor


def built(module_class, weights=None, width=3):
    submission = LocalSubmission({"it": module_class})
    module = submission.request("construct", {"name": "it", "kwargs": {"width": width}})["value"]
    if weights is not None:
        loaded = submission.request("load", {"module": module, "parameters": weights})
        assert loaded == {"value": None}
    return submission, module


WEIGHTS = {"factor": np.array([2.0, 3.0, 5.0]), "unused": np.zeros(2)}
X = torch.arange(6.0).reshape(2, 3)


def vjp(submission, module, cotangent):
    asked = {"module": module, "args": (X,), "cotangent": cotangent}
    return submission.request("vjp", asked)


def test_a_module_is_built_loaded_and_run():
    submission, module = built(Scale, WEIGHTS)
    assert submission.request("parameters", {"module": module})["value"] == {
        "factor": (3,),
        "unused": (2,),
    }
    output = submission.request("forward", {"module": module, "args": (X,)})["value"]
    assert output.tolist() == [[0.0, 3.0, 10.0], [6.0, 12.0, 25.0]]


def test_the_gradient_is_the_vector_jacobian_product():
    cotangent = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    gradients = vjp(*built(Scale, WEIGHTS), cotangent)["value"]
    assert gradients["factor"].tolist() == (X.numpy() * cotangent).sum(0).tolist()
    assert gradients["unused"].tolist() == [0.0, 0.0]


class Detached(Scale):
    def forward(self, x):
        return super().forward(x).detach()


class AsNumPy(Scale):
    def forward(self, x):
        return super().forward(x).detach().numpy()


class Without(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return x


@pytest.mark.parametrize("module_class", [Detached, AsNumPy, Without])
def test_an_output_without_a_gradient_has_the_gradient_zero(module_class):
    gradients = vjp(*built(module_class), np.ones((2, 3)))["value"]
    assert all(not gradient.any() for gradient in gradients.values())
    assert set(gradients) == ({"factor", "unused"} if module_class is not Without else set())


@pytest.mark.parametrize("kind", [tuple, list])
def test_of_several_outputs_the_first_carries_the_gradient(kind):
    class Several(Scale):
        def forward(self, x):
            return kind([super().forward(x), x])

    one, other = (vjp(*built(m, WEIGHTS), np.ones((2, 3))) for m in (Scale, Several))
    assert one["value"]["factor"].tolist() == other["value"]["factor"].tolist()


def test_two_modules_are_kept_apart():
    submission, first = built(Scale, WEIGHTS)
    second = submission.request("construct", {"name": "it", "kwargs": {"width": 3}})["value"]
    outputs = [
        submission.request("forward", {"module": module, "args": (X,)})["value"].sum().item()
        for module in (first, second)
    ]
    assert outputs == [56.0, 15.0]


def test_a_proxy_gives_the_same_answers():
    local = LocalSubmission({"it": lambda a: (a, [a.sum(), None], {"b": True})})
    request = ("call", {"name": "it", "args": (np.arange(3.0),), "kwargs": {}})
    assert repr(SerialisedSubmission(local).request(*request)) == repr(local.request(*request))
