// The controls of explorers: sliders, choices, boxes to tick, buttons.
import { element } from "./kit.js";
import { make } from "./elements.js";

// A module says what its controls are and how they are set, as groups of data:
// `{ kind: "controls", of: [{ kind: "toggle", word, value, set }] }`, where `set` turns a reader's
// choice into traits, such as `{ temperature: 2 }`. This makes their elements, once, and returns
// them with the function that shows later data in them. `write` receives the traits.
export function panel(groups, write) {
  let specs = [];
  const makeOne = (spec, i) => CONTROLS[spec.kind](spec, traitsOf => write(traitsOf(specs[i])));
  const made = groups.flatMap(({ of }) => of).map(makeOne);
  const parts = made.map(({ whole }) => whole);
  return {
    parts: groups.map(({ kind, of }) => {
      const group = make(element("div", { class: kind }));
      group.append(...parts.splice(0, of.length));
      return group;
    }),
    show(later) {
      specs = later.flatMap(({ of }) => of);
      specs.forEach((spec, i) => made[i].show(spec));
    },
  };
}

// Could a hand set the controls like this? A link may ask for anything.
export function isInReach(groups) {
  return groups.flatMap(({ of }) => of).every(({ kind, value, min, max, options }) => {
    if (kind === "slider") return Number.isFinite(value) && value >= min - 1e-9 && value <= max + 1e-9;
    return kind !== "choice" || options.some(([option]) => option === value);
  });
}

// JupyterLab takes arrow keys for itself unless the input says no.
const KEYS_ARE_MINE = { "data-lm-suppress-shortcuts": "true" };

// `symbol`: one letter of maths, with an index in `sub`.
function symbolOf({ symbol, sub }) {
  if (!symbol) return [];
  return [element("i", {}, symbol, ...(sub ? [element("sub", {}, sub)] : [])), " "];
}

// Each makes the elements of one control. `choose` wants to know how what is set now, by its data,
// becomes traits.
const CONTROLS = {
  // A slider with a symbol and a word, and its value in the same line. With `tick` a box to tick
  // comes before the word, and `label` names the slider.
  slider(first, choose) {
    const input = make(element("input", { type: "range", ...KEYS_ARE_MINE }));
    const shown = make(element("span", { class: "value", "aria-hidden": "true" }));
    const box = first.tick && make(element("input", { type: "checkbox", "aria-label": first.tick.label, ...KEYS_ARE_MINE }));
    const name = make(element("span", { class: "name" }, ...symbolOf(first), first.word));
    const whole = make(element(box ? "div" : "label", { class: "slider" }));
    if (box) {
      const around = make(element("label", { class: "tick-box" }));
      around.append(box, name);
      whole.append(around, shown, input);
      input.setAttribute("aria-label", first.label);
      box.addEventListener("input", () => choose(now => now.tick.set(box.checked)));
    } else whole.append(name, shown, input);
    input.addEventListener("input", () => choose(now => now.set(input.valueAsNumber)));
    return {
      whole,
      show({ min, max, step, value, text, tick }) {
        Object.assign(input, { min, max, step }); // before the value, which is fitted into them
        input.value = value;
        input.setAttribute("aria-valuetext", text);
        shown.textContent = text;
        if (box) box.checked = tick.value;
      },
    };
  },

  // `options`: pairs of value and word.
  choice({ word, options }, choose) {
    const select = make(element("select", KEYS_ARE_MINE,
      ...options.map(([value, text]) => element("option", { value }, text))));
    const whole = make(element("label", { class: "choice" }, element("span", { class: "name" }, word)));
    whole.append(select);
    select.addEventListener("input", () => choose(now => now.set(select.value)));
    return { whole, show: ({ value }) => (select.value = value) };
  },

  toggle({ word }, choose) {
    const box = make(element("input", { type: "checkbox", ...KEYS_ARE_MINE }));
    const whole = make(element("label", { class: "tick-box" }));
    whole.append(box, make(element("span", { class: "name" }, word)));
    box.addEventListener("input", () => choose(now => now.set(box.checked)));
    return { whole, show: ({ value }) => (box.checked = value) };
  },

  // `options`: a word, a symbol and the traits that the button sets.
  buttons({ word, options }, choose) {
    const whole = make(element("div", { class: "buttons", role: "group", "aria-label": word },
      element("span", { "aria-hidden": "true" }, word)));
    options.forEach((option, i) =>
      whole.append(button(element("span", {}, ...symbolOf(option), option.word), () => choose(now => now.options[i].traits))));
    return { whole, show() {} };
  },
};

export function button(label, onPress) {
  const made = make(element("button", { type: "button", ...KEYS_ARE_MINE }, label));
  made.addEventListener("click", onPress);
  return made;
}
