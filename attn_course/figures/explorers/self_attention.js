// Six words ask each other: one word's row of weights, the whole table, and what a shuffle does.
import { addUp, element, exact, fitted, NARROW, picture, rounded, said, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic: words are queries, keys and values, as in the pencil example of the page -----

const dot = (one, other) => addUp(one.map((entry, f) => entry * other[f]));
const mixed = (weights, vectors) => vectors[0].map((_, f) => addUp(weights.map((weight, i) => weight * vectors[i][f])));

function compute({ names, values, order, positions, sharpness }) {
  const isOrder = order.length === names.length && names.every((_, i) => order.includes(i));
  if (!isOrder) throw new Error(`order must have every word once: ${order}`); // a link may say anything
  const shown = order.map(i => names[i]);
  const vectors = order.map((i, place) => {
    const position = [Math.sin(place + 1), Math.cos(place + 1), 0];
    return values[i].map((entry, f) => entry + (positions ? position[f] : 0));
  });
  const root = Math.sqrt(vectors[0].length);
  const weights = vectors.map(query => softmax(vectors.map(key => sharpness * dot(query, key) / root)));
  return { shown, weights, contexts: weights.map(row => mixed(row, vectors)) };
}

// --- the picture: the row of the word that asks on the left, all rows on the right -----------------

const TOP = 34;

function paint(state, now, width) {
  const { asks, words } = state;
  const isNarrow = width < NARROW;
  const row = isNarrow ? 25 : 32;
  const n = now.shown.length;
  const label = isNarrow ? 44 : 60;
  const half = width * (isNarrow ? 0.5 : 0.46);
  const track = half - label - 40;
  const asker = now.shown.indexOf(asks);
  const text = (kind, x, y, word) => element("text", { class: kind, x, y }, word);
  const y = i => TOP + i * row;
  const edge = half + (isNarrow ? 46 : 78); // where the table begins
  const cell = (width - edge) / n;

  const bars = now.shown.flatMap((word, i) => {
    const weight = now.weights[asker][i];
    return [
      fitted(i === asker ? "word ink" : "word", 0, y(i) + row / 2 + 4, label - 6, word),
      element("rect", { class: "cell value", x: label, y: y(i) + 5, width: track, height: row - 10, "fill-opacity": 0.12 }),
      element("rect", { class: "bar weight", x: label, y: y(i) + 5, width: track * weight, height: row - 10 }),
      text("beside", half - 6, y(i) + row / 2 + 4, rounded(weight, 2)),
    ];
  });
  const cells = now.weights.flatMap((weights, i) => [
    fitted(i === asker ? "beside ink" : "beside", edge - 6, y(i) + row / 2 + 4, edge - half - 8, now.shown[i]),
    ...weights.map((weight, j) => element("rect", {
      class: "cell weight", x: edge + j * cell, y: y(i), width: cell, height: row, "fill-opacity": weight,
    })),
  ]);
  const below = now.shown.map((word, j) =>
    fitted("below", edge + (j + 0.5) * cell, y(n) + 15, cell - 1, isNarrow ? word[0] : word));

  return picture(state, "steady", width, y(n) + 24,
    fitted("word", 0, 16, half - 8, `${asks} ${words.asks_title}`),
    fitted("word", edge, 16, width - edge, words.table_title),
    ...bars, ...cells, ...below,
    element("path", { class: "query", d: `M${edge} ${y(asker)}H${width - 1}V${y(asker + 1)}H${edge}Z` }),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, asks, positions }, now) {
  const context = now.contexts[now.shown.indexOf(asks)].map(entry => rounded(entry, 2)).join(", ");
  return [said(`${words.context} ${asks}: (${context}).`), said(positions ? words.with_positions : words.without)];
}

function tables({ words }, now) {
  return [
    // Narrow tables, one per word that asks: one wide table would not fit on a phone.
    ...now.shown.map((word, i) => table([`${word} ${words.asks_title}`, words.weight],
      now.shown.map((other, j) => [other, exact(now.weights[i][j], "weight")]))),
    table([words.contexts, "1", "2", "3"], now.shown.map((word, i) =>
      [word, ...now.contexts[i].map(entry => exact(entry, "context"))])),
  ];
}

function draw(state, now, width) {
  return { body: [paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

// Always the same shuffle, one after the other: a link shows what the reader has seen, and after as
// many shuffles as there are words the sentence is itself again.
const NEXT = [3, 5, 0, 4, 1, 2];

function controls({ words, names, order, asks, positions, sharpness }) {
  return [{ kind: "controls", of: [
    { kind: "choice", word: words.asks, options: names.map(word => [word, word]), value: asks, set: value => ({ asks: value }) },
    {
      kind: "slider", symbol: "s", word: words.sharpness,
      min: 0, max: 4, step: 0.1, value: sharpness, text: rounded(sharpness, 1), set: value => ({ sharpness: value }),
    },
    { kind: "toggle", word: words.positions, value: positions, set: value => ({ positions: value }) },
    {
      kind: "buttons", word: words.order, options: [
        { word: words.shuffle, traits: { order: NEXT.map(i => order[i]) } },
        { word: words.reverse, traits: { order: [...order].reverse() } },
        { word: words.as_written, traits: { order: names.map((_, i) => i) } },
      ],
    },
  ] }];
}

export default explorer({ compute, draw, controls });
