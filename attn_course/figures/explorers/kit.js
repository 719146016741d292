// What the pictures of explorers are made of: plain data, without an element in it.
// `element("rect", { x: 1 })` is `["rect", { x: "1" }, []]`. In the browser `elements.js` makes
// elements of it; when the book is built, `still.py` makes markup of the same data. So the still
// picture and the moving one can't differ.

// --- data ---------------------------------------------------------------------------------------

// One element as data. Attributes become text here, or Python would write numbers in its own way.
export function element(tag, attributes = {}, ...children) {
  const texts = Object.entries(attributes).map(([name, value]) => [name, asText(value)]);
  return [tag, Object.fromEntries(texts), children];
}

// Four digits are enough for a place in a picture. What needs all of them comes as text.
const asText = value => (typeof value === "number" ? String(Number(value.toFixed(4))) : String(value));

// The drawing of an explorer; `words.picture` describes it to those who do not see it.
export function picture({ words }, kind, width, height, ...parts) {
  return element("svg", {
    class: `picture ${kind}`.trim(), role: "img", "aria-label": words.picture,
    viewBox: `0 0 ${width} ${height}`, width, height,
  }, ...parts);
}

// `kinds`: pairs of a mark's class and its word.
export function legend(...kinds) {
  const entries = kinds.map(([kind, word]) =>
    element("span", {}, element("span", { class: `sign ${kind}` }), word));
  return element("p", { class: "legend" }, ...entries);
}

// --- numbers ------------------------------------------------------------------------------------

// Short to the eye, whole in `value`: for those who copy it, and for the tests.
export function exact(number, name) {
  return element("data", { value: String(number), "data-name": name }, short(number));
}

// The same for a number of things.
export function counted(number, name) {
  return element("data", { value: String(number), "data-name": name }, `${number}`);
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
  return element("span", {}, `${word} `, element("b", {}, short(number)));
}

// A sentence, for the report.
export function said(text) {
  return element("span", {}, text);
}

// A number, a vector or a matrix in one line; a semicolon ends a row.
export function written(value) {
  if (!Array.isArray(value)) return String(value).replace("-", "−");
  return value.map(written).join(Array.isArray(value[0]) ? "; " : ", ");
}

export function table(head, rows) {
  const header = element("tr", {}, ...head.map(word => element("th", { scope: "col" }, word)));
  const body = rows.map(([first, ...others]) =>
    element("tr", {}, element("th", { scope: "row" }, first), ...others.map(cell => element("td", {}, cell))),
  );
  return element("table", {}, element("thead", {}, header), element("tbody", {}, ...body));
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

// Below this many pixels a picture is for a phone, where it shares the screen with its controls.
export const NARROW = 480;

export const MARGIN = { left: 40, right: 12 };

// What charts with rows share: rules from side to side, words and numbers at their edges.
export function chart(width) {
  const right = width - MARGIN.right;
  const rule = (y, kind) => element("path", { class: kind, d: `M${MARGIN.left} ${y}H${right}` });
  const beside = (y, text) => element("text", { class: "tick beside", x: MARGIN.left - 7, y: y + 4 }, text);
  return {
    right, rule, beside,
    title: (y, text) => element("text", { class: "word", x: MARGIN.left, y }, text),
    below: (x, y, text, kind = "tick below") => element("text", { class: kind, x, y }, text),
    symbol: (y, text) => element("text", { class: "symbol beside", x: MARGIN.left - 7, y }, text),
    levels: (place, marks) => marks.flatMap(({ value, text }) =>
      [rule(place(value), "grid"), beside(place(value), text)]),
  };
}

// An upright bar, which may hang.
export function bar(kind, centre, from, to, thick) {
  return element("rect", {
    class: kind, x: centre - thick / 2, y: Math.min(from, to), width: thick, height: Math.abs(from - to),
  });
}

// A word that the browser makes narrower where it has no more than this room.
export function fitted(kind, x, y, room, text) {
  return element("text", { class: kind, x, y, "data-room": room }, text);
}

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

// --- arithmetic ---------------------------------------------------------------------------------

export function addUp(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

export function clamp(number, [low, high]) {
  return Math.min(high, Math.max(low, number));
}

// Weights of the keys that may be attended to; 0 for every key where none may.
export function softmax(scores, mask = scores.map(() => true), temperature = 1) {
  const heights = scores.map(score => score / temperature);
  const top = Math.max(...heights.filter((_, l) => mask[l]));
  const powers = heights.map((height, l) => (mask[l] ? Math.exp(height - top) : 0));
  const whole = addUp(powers);
  return powers.map(power => (whole > 0 ? power / whole : 0));
}

// --- traits -------------------------------------------------------------------------------------

// The traits that put `value` into one entry of the list `trait`.
export function entry(state, trait, i, value) {
  return { [trait]: state[trait].map((old, j) => (j === i ? value : old)) };
}
