// What explorers are made of. `page.py` puts this text in front of the module that imports it.

// --- elements -----------------------------------------------------------------------------------

export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// --- controls -----------------------------------------------------------------------------------

// JupyterLab takes arrow keys for itself unless the input says no.
const KEYS_ARE_MINE = { "data-lm-suppress-shortcuts": "true" };

// A slider with a symbol (maths) and a word, and its value beside it.
export function slider({ symbol, word, onInput }) {
  const input = html("input", { type: "range", ...KEYS_ARE_MINE });
  const shown = html("span", { class: "value", "aria-hidden": "true" });
  const name = html("span", { class: "name" }, html("i", {}, symbol), ` ${word}`);
  input.addEventListener("input", () => onInput(input.valueAsNumber));
  return {
    element: html("label", { class: "slider" }, name, shown, input),
    show({ min, max, step, value, text }) {
      Object.assign(input, { min, max, step }); // before the value, which is fitted into them
      input.value = value;
      input.setAttribute("aria-valuetext", text);
      shown.textContent = text;
    },
  };
}

// `options`: pairs of value and word.
export function choice({ word, options, onInput }) {
  const select = html("select", KEYS_ARE_MINE);
  select.append(...options.map(([value, text]) => html("option", { value }, text)));
  select.addEventListener("input", () => onInput(select.value));
  return {
    element: html("label", { class: "choice" }, html("span", { class: "name" }, word), select),
    show: value => (select.value = value),
  };
}

export function toggle({ word, onInput }) {
  const box = html("input", { type: "checkbox", ...KEYS_ARE_MINE });
  box.addEventListener("input", () => onInput(box.checked));
  return {
    element: html("label", { class: "tick-box" }, box, html("span", { class: "name" }, word)),
    show: value => (box.checked = value),
  };
}

// A button with a word, and a symbol (maths) before it if there is one.
export function button({ symbol, word, onPress }) {
  const name = symbol ? [html("i", {}, symbol), ` ${word}`] : [word];
  const element = html("button", { type: "button", ...KEYS_ARE_MINE }, ...name);
  element.addEventListener("click", onPress);
  return element;
}

// `kinds`: pairs of a mark's class and its word. Returns the entries too, which may be hidden.
export function legend(kinds) {
  const entries = kinds.map(([kind, word]) =>
    html("span", {}, html("span", { class: `sign ${kind}` }), word),
  );
  return { element: html("p", { class: "legend" }, ...entries), entries };
}

// --- numbers ------------------------------------------------------------------------------------

// Short to the eye, whole in `value`: for whoever copies it, and for the tests.
export function exact(number, name) {
  return html("data", { value: number, "data-name": name }, short(number));
}

// The same for a number of things.
export function counted(number, name) {
  return html("data", { value: number, "data-name": name }, `${number}`);
}

export function short(number) {
  const small = number !== 0 && Math.abs(number) < 0.001;
  return small ? number.toExponential(2).replaceAll("-", "−") : rounded(number, 4);
}

export function rounded(number, digits) {
  return number.toFixed(digits).replace("-", "−");
}

// A number with its name, for the report.
export function named(word, number) {
  return html("span", {}, `${word} `, html("b", {}, short(number)));
}

// A number, a vector or a matrix in one line; a semicolon ends a row.
export function written(value) {
  if (!Array.isArray(value)) return String(value).replace("-", "−");
  return value.map(written).join(Array.isArray(value[0]) ? "; " : ", ");
}

export function table(head, rows) {
  const header = html("tr", {}, ...head.map(word => html("th", { scope: "col" }, word)));
  const body = rows.map(([first, ...others]) =>
    html("tr", {}, html("th", { scope: "row" }, first), ...others.map(cell => html("td", {}, cell))),
  );
  return html("table", {}, html("thead", {}, header), html("tbody", {}, ...body));
}

// A table with a row for each key; `lists` has a list of numbers for each column, by its name.
export function columns(words, lists) {
  const names = Object.keys(lists);
  const keys = [...lists[names[0]].keys()];
  return table(
    [words.key, ...names.map(name => words[name])],
    keys.map(l => [`${l + 1}`, ...names.map(name => exact(lists[name][l], name))]),
  );
}

// --- drawing ------------------------------------------------------------------------------------

// The straight line from one interval to another, for places in a picture.
export function scale([low, high], [start, end]) {
  const place = x => start + ((x - low) / (high - low)) * (end - start);
  place.invert = pixel => low + ((pixel - start) / (end - start)) * (high - low);
  return place;
}

// A path through points; null leaves a gap.
export function line(points) {
  let pen = "M";
  const steps = [];
  for (const point of points) {
    if (point) steps.push(`${pen}${point[0].toFixed(2)} ${point[1].toFixed(2)}`);
    pen = point ? "L" : "M";
  }
  return steps.join("");
}

// 1, 2 or 5 times a power of ten, at or above `number`.
export function roundUp(number) {
  const power = 10 ** Math.floor(Math.log10(number));
  return power * [1, 2, 5, 10].find(step => step * power >= number * (1 - 1e-9));
}

// About `count` round numbers from low to high.
export function ticks(low, high, count) {
  const step = roundUp((high - low) / count);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return Array.from({ length: last - first + 1 }, (_, i) => {
    const value = (first + i) * step;
    return { value, text: rounded(value, digits) };
  });
}

// Makes a word narrower where there is no room for it.
export function squeeze(word, room) {
  if (word.getComputedTextLength() <= room) return;
  word.setAttribute("textLength", room);
  word.setAttribute("lengthAdjust", "spacingAndGlyphs");
}

// --- arithmetic ---------------------------------------------------------------------------------

export function addUp(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

// Weights of the keys that may be attended to; 0 for every key where none may.
export function softmax(scores, mask = scores.map(() => true), temperature = 1) {
  const heights = scores.map(score => score / temperature);
  const top = Math.max(...heights.filter((_, l) => mask[l]));
  const powers = heights.map((height, l) => (mask[l] ? Math.exp(height - top) : 0));
  const whole = addUp(powers);
  return powers.map(power => (whole > 0 ? power / whole : 0));
}

// --- all together -------------------------------------------------------------------------------

// Returns the function that reads these traits, by name.
export function reader(model, names) {
  return () => Object.fromEntries(names.map(name => [name, model.get(name)]));
}

// Returns the function that writes a trait, for the figure and for Python.
export function writer(model) {
  return (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
}

// Returns the function that writes one entry of a trait that is a list.
export function entryWriter(model) {
  const write = writer(model);
  return (name, i, value) => write(name, model.get(name).map((old, j) => (j === i ? value : old)));
}

// A finger this far from where it came down, in pixels, is on its way.
const ON_ITS_WAY = 5;

// Calls `onMove(x, y, starts)`, in the picture's pixels, while a mouse or a finger holds it.
// A finger that comes down may be about to scroll the page. So `fingers` that move "sideways", or
// only tap, hold the picture; others do "at once", where the page is kept from scrolling, or "never".
export function drag(picture, onMove, fingers = "sideways") {
  let undecided = null; // where a finger came down that may yet scroll the page
  const tell = (event, starts) => {
    const { left, top } = picture.getBoundingClientRect();
    onMove(event.clientX - left, event.clientY - top, starts);
  };
  picture.addEventListener("pointerdown", event => {
    const isFinger = event.pointerType === "touch";
    if (event.button !== 0 || !event.isPrimary || (isFinger && fingers === "never")) return;
    picture.setPointerCapture(event.pointerId);
    undecided = isFinger && fingers === "sideways" ? event : null;
    if (!undecided) tell(event, true);
  });
  picture.addEventListener("pointermove", event => {
    if (!picture.hasPointerCapture(event.pointerId)) return;
    if (undecided) {
      const across = Math.abs(event.clientX - undecided.clientX);
      const along = Math.abs(event.clientY - undecided.clientY);
      if (across < ON_ITS_WAY || across <= along) return;
    }
    tell(event, Boolean(undecided));
    undecided = null;
  });
  picture.addEventListener("pointerup", event => {
    if (undecided) tell(event, true); // a tap
    undecided = null;
  });
  picture.addEventListener("pointercancel", () => (undecided = null)); // the page scrolls
}

// Puts a figure into `el` and keeps it true to the model: `show(width)` runs when a trait in
// `moving` changes, or the room for the picture. Below the `parts` come the `report`, the way back
// to the start, and the tables `behind` the picture. Returns what takes the figure down again.
export function stage({ model, el, moving, picture, parts, report, behind, show }) {
  const words = model.get("words");
  const start = moving.map(name => [name, model.get(name)]);
  const again = button({
    word: words.again,
    onPress() {
      for (const [name, value] of start) model.set(name, value);
      model.save_changes();
    },
  });
  const figure = html("div", { class: "attn-explorer", role: "group", "aria-label": words.title },
    ...parts,
    html("div", { class: "foot" }, report, again),
    html("details", {}, html("summary", {}, words.numbers), behind),
  );
  let width = 640;
  const redraw = () => show(width);
  // Drawn in the pixels that are there, so that letters keep their size on a phone.
  const room = new ResizeObserver(([entry]) => {
    width = Math.max(240, Math.round(entry.contentRect.width));
    redraw();
  });
  const watched = moving.map(name => `change:${name}`);
  for (const event of watched) model.on(event, redraw);
  redraw();
  el.replaceChildren(figure);
  room.observe(picture);
  return () => {
    room.disconnect();
    for (const event of watched) model.off(event, redraw);
  };
}
