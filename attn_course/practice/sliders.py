"""A learner's own function under sliders: `practice.play`.

The sliders of ipywidgets have no name that a screen reader could say, so this one is a plain
range input with a label. The rest (calling the function, catching what it draws) is ipywidgets'.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets
import traitlets

from attn_course.practice.side_by_side import SideBySide
from attn_course.translate import _

if TYPE_CHECKING:
    from attn_course.practice.exercise import Exercise

# JupyterLab handles the arrow keys itself in inputs without the data attribute.
_RENDER = """
let made = 0;
function render({ model, el }) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const shown = document.createElement("output");
  input.type = "range";
  input.id = shown.htmlFor = label.htmlFor = `practice-slider-${++made}-${Date.now()}`;
  input.setAttribute("data-lm-suppress-shortcuts", "true");
  label.textContent = model.get("label");
  label.style.cssText = "min-width: 5em; text-align: right; margin-right: 0.75em";
  input.style.cssText = "width: min(20em, 50vw); vertical-align: middle";
  shown.style.cssText = "margin-left: 0.75em; font-variant-numeric: tabular-nums";
  const show = () => {
    for (const name of ["min", "max", "step"]) input[name] = model.get(name);
    input.value = model.get("value");
    shown.value = String(Number(model.get("value").toPrecision(6)));
  };
  input.addEventListener("input", () => {
    model.set("value", Number(input.value));
    model.save_changes();
  });
  model.on("change:value", show);
  show();
  el.style.color = "var(--jp-content-font-color1, inherit)";
  el.append(label, input, shown);
}
export default { render };
"""


class Slider(anywidget.AnyWidget):
    """A range input with a label."""

    _esm = _RENDER
    label = traitlets.Unicode().tag(sync=True)
    min = traitlets.Float().tag(sync=True)
    max = traitlets.Float().tag(sync=True)
    step = traitlets.Float().tag(sync=True)
    value = traitlets.Float().tag(sync=True)


class WholeSlider(Slider):
    """The same for whole numbers."""

    value = traitlets.CInt().tag(sync=True)


def sliders_for(
    function: Callable[..., Any], ranges: Mapping[str, tuple[float, ...]]
) -> ipywidgets.Widget:
    """Return sliders, one for each range, above what `function` draws or prints."""
    if not callable(function) or not ranges:
        raise TypeError(_("Give a function and a range, as in play(draw, w=(0.1, 20.0))."))
    controls = {name: _slider(function, name, limits) for name, limits in ranges.items()}
    output = ipywidgets.interactive_output(partial(_call, function), controls)
    return ipywidgets.VBox([*controls.values(), output])


def sliders_beside(
    answer: Any, exercise: "Exercise", ranges: Mapping[str, tuple[float, ...]]
) -> ipywidgets.Widget:
    """Return sliders above a learner's answer and the right one, on the same input."""
    both = SideBySide(answer, exercise)

    def show(**values: Any) -> None:
        both.show(**values)

    wanted = both.ranges(ranges)
    show.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=both.start(name))
            for name in wanted
        ]
    )
    return sliders_for(show, wanted)


def _call(function: Callable[..., Any], **values: Any) -> Any:
    """Call the function; where it calls a stub, draw nothing and say so."""
    before = set(_figures())
    try:
        return function(**values)
    except NotImplementedError:
        for number in set(_figures()) - before:  # half drawn, they would be shown all the same
            sys.modules["matplotlib.pyplot"].close(number)
        print(_("Not written yet: there is something to see when what this calls is written."))


def _figures() -> list[int]:
    """Return the numbers of the open figures."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.get_fignums() if pyplot else []


def _slider(function: Callable[..., Any], name: str, limits: tuple[float, ...]) -> Slider:
    numbers = isinstance(limits, tuple | list) and all(
        isinstance(limit, int | float) for limit in limits
    )
    if not numbers or len(limits) not in (2, 3) or not limits[0] < limits[1]:
        raise ValueError(
            _(
                "The range of {name} must be (low, high) or (low, high, step), not {limits!r}."
            ).format(name=name, limits=limits)
        )
    whole = all(isinstance(limit, int) for limit in limits)
    low, high = limits[0], limits[1]
    step = limits[2] if len(limits) == 3 else 1 if whole else (high - low) / 100
    start = _default(function, name)
    if not isinstance(start, int | float) or not low <= start <= high:
        start = low
    kind = WholeSlider if whole else Slider
    return kind(label=name, min=low, max=high, step=step, value=start)


def _default(function: Callable[..., Any], name: str) -> Any:
    parameter = inspect.signature(function).parameters.get(name)
    return None if parameter is None else parameter.default
