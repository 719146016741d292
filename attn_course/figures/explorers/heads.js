// Heads on one sentence: numbered cells, and where they go with and without a transpose.
import { addUp, counted, element, exact, fitted, NARROW, picture, rounded, said, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/queries/multi_head.py -------------------------------------

// Where in memory, from 0, the number in this head, row and column comes from.
function origin({ values, heads, split }, head, row, column) {
  const n = values.length;
  const d = values[0].length;
  const size = d / heads;
  return split === "reshaped" ? (head * n + row) * size + column : row * d + head * size + column;
}

function compute(state) {
  const { names, values, heads, word } = state;
  const size = values[0].length / heads;
  const memory = values.flat();
  const range = length => Array.from({ length }, (_, i) => i);
  const cells = range(heads).map(head => values.map((_, row) => range(size).map(column => origin(state, head, row, column))));
  const weights = cells.map(rows => {
    const parts = rows.map(row => row.map(place => memory[place]));
    const query = parts[names.indexOf(word)];
    return softmax(parts.map(part => addUp(part.map((entry, i) => entry * query[i])) / Math.sqrt(size)));
  });
  return { cells, weights };
}

// --- the picture ---------------------------------------------------------------------------------

const TOP = 42;
const GAP = 0.35; // between two tables, in cells
const BAR = 1.45; // a weight, in cells

function paint(state, now, width) {
  const { names, values, heads, word, words } = state;
  const d = values[0].length;
  const size = d / heads;
  const left = width < NARROW ? 46 : 58;
  const row = width < NARROW ? 25 : 30;
  const unit = (width - left) / (2 * d + heads * (BAR + GAP) + GAP);
  const line = i => TOP + (i + 0.5) * row + 4;
  const asked = names.indexOf(word);
  // Each head has a shade of the colour of keys and values.
  const shade = head => 0.06 + 0.48 * (heads === 1 ? 0 : head / (heads - 1));
  const headOf = new Map(now.cells.flatMap((rows, head) => rows.flat().map(place => [place, head])));
  const cell = (x, i, place) => [
    element("rect", {
      class: "cell value", x: x + 1, y: TOP + i * row + 1, width: unit - 2, height: row - 2,
      "fill-opacity": shade(headOf.get(place)),
    }),
    fitted("below ink", x + unit / 2, line(i), unit - 3, `${place + 1}`),
  ];
  const share = (x, i, weight) => [
    element("rect", {
      class: "cell weight", x: x + 3, y: TOP + i * row + 1, width: BAR * unit - 4, height: row - 2,
      "fill-opacity": 0.6 * weight,
    }),
    fitted("below ink", x + (BAR * unit) / 2 + 1, line(i), BAR * unit - 6, rounded(weight, 2)),
  ];
  const start = head => left + (d + GAP + head * (size + BAR + GAP)) * unit;
  const title = (x, room, text) => fitted("word", x + 1, 32, room, text);

  return picture(state, "steady", width, TOP + names.length * row + 4,
    element("rect", { class: "band", x: 0, y: TOP + asked * row, width, height: row }),
    title(left, d * unit - 4, words.memory),
    ...names.flatMap((name, i) => [
      fitted("word", 0, line(i), left - 5, name),
      ...values[i].flatMap((_, column) => cell(left + column * unit, i, i * d + column)),
    ]),
    ...now.cells.flatMap((rows, head) => [
      fitted("word", start(head) + 1, 14, (size + BAR) * unit - 2, `${words.head} ${head + 1}`),
      title(start(head) + size * unit + 2, BAR * unit - 3, words.weights),
      ...rows.flatMap((places, i) => [
        ...places.flatMap((place, column) => cell(start(head) + column * unit, i, place)),
        ...share(start(head) + size * unit, i, now.weights[head][i]),
      ]),
    ]),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

// The rows with the most weight in a head; equal weights say nothing.
function most({ names, words }, weights) {
  const best = Math.max(...weights);
  const rows = names.filter((_, i) => weights[i] > best - 1e-9);
  return rows.length === names.length ? words.equal : rows.join(", ");
}

function report(state, now) {
  const { names, values, heads, split, words } = state;
  const each = now.weights.map((weights, head) => `${words.head} ${head + 1}: ${most(state, weights)}`);
  const found = said(`${words.most} ${each.join("; ")}.`);
  if (heads === 1) return [found, said(words.single)];
  if (split === "transposed") return [found, said(words.right)];
  const d = values[0].length;
  const seen = new Set(now.cells[0].flat().map(place => names[Math.floor(place / d)]));
  return [found, said(`${words.wrong} ${[...seen].join(", ")}.`), said(words.rows)];
}

function tables({ names, words }, now) {
  return now.cells.map((rows, head) => table(
    [words.row, `${words.cells} (${words.head} ${head + 1})`, words.weights],
    rows.map((places, i) => [
      names[i],
      element("span", {}, ...places.flatMap(place => [counted(place + 1, "cell"), " "])),
      exact(now.weights[head][i], "weight"),
    ]),
  ));
}

function draw(state, now, width) {
  return { body: [paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, names, heads, split, word }) {
  const row = names.indexOf(word) + 1;
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "", word: words.query,
      min: 1, max: names.length, step: 1, value: row, text: word, set: value => ({ word: names[value - 1] }),
    },
    {
      kind: "choice", word: words.split, options: ["transposed", "reshaped"].map(name => [name, words[name]]),
      value: split, set: value => ({ split: value }),
    },
    {
      kind: "choice", word: words.heads, options: [1, 2, 4].map(number => [number, `${number}`]),
      value: heads, set: value => ({ heads: Number(value) }),
    },
  ] }];
}

export default explorer({ compute, draw, controls });
