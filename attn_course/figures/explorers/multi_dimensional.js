// One weight per position, or one for every feature: pull the columns apart and see.
import { addUp, element, exact, fitted, NARROW, picture, rounded, said, softmax, table, written } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/dimensionality.py -----------------------------------------

const columnOf = (matrix, i) => matrix.map(row => row[i]);
const times = (matrix, vector) => matrix.map(row => addUp(row.map((entry, i) => entry * vector[i])));

// Scores, a row for each position and a column for each feature.
function scored({ names, query, values, spread, parameters: { W_d, W_q, W_k, b } }) {
  const asked = times(W_q, values[names.indexOf(query)]);
  const means = W_d.map(row => addUp(row) / row.length);
  const apart = W_d.map((row, i) => row.map(entry => means[i] + spread * (entry - means[i])));
  return values.map(word => {
    const hidden = times(W_k, word).map((entry, i) => Math.tanh(asked[i] + entry + b[i]));
    return apart[0].map((_, i) => addUp(columnOf(apart, i).map((entry, j) => entry * hidden[j])));
  });
}

function compute(state) {
  const { aspects, values, normalise } = state;
  const scores = scored(state);
  const columns = aspects.map((_, i) => softmax(columnOf(scores, i)));
  const weights = normalise === "positions"
    ? scores.map((_, l) => columns.map(column => column[l]))
    : scores.map(row => softmax(row));
  return {
    weights,
    rowSums: weights.map(addUp),
    columnSums: aspects.map((_, i) => addUp(columnOf(weights, i))),
    context: aspects.map((_, i) => addUp(weights.map((row, l) => row[i] * values[l][i]))),
  };
}

// --- the picture ---------------------------------------------------------------------------------

const TOP = 46; // where the first position starts
const LEFT = 52;
const GAP = 0.9; // the column of sums, in columns of weights

function paint(state, now, width) {
  const { names, aspects, values, normalise, words } = state;
  const n = aspects.length;
  const row = width < NARROW ? 25 : 30;
  const room = (width - LEFT) / (2 * n + GAP); // weights, their sums, values
  const second = n + GAP; // where the values start
  const middle = column => LEFT + (column + 0.5) * room;
  const between = middle(n + (GAP - 1) / 2);
  const under = TOP + names.length * row + 24;
  const line = l => TOP + (l + 0.5) * row + 5;
  const text = (kind, x, y, word) => element("text", { class: kind, x, y }, word);
  const cell = (kind, column, l, number, digits, strength) => [
    element("rect", {
      class: `cell ${kind}`, x: middle(column) - room / 2 + 1, y: TOP + l * row + 1,
      width: room - 2, height: row - 2, "fill-opacity": strength,
    }),
    text("below ink", middle(column), line(l), rounded(number, digits)),
  ];
  const [across, down] = normalise === "positions" ? ["below", "below sure"] : ["below sure", "below"];

  return picture(state, "steady", width, under + 28,
    text("below", middle((n - 1) / 2), 16, words.weights),
    text("below", middle(second + (n - 1) / 2), 16, words.values),
    text("below", between, 36, words.sum),
    text("word", 0, under, words.sum),
    text("below", middle(second + (n - 1) / 2), under + 20, words.context),
    ...aspects.flatMap((aspect, i) => [
      fitted("below", middle(i), 36, room - 5, aspect),
      fitted("below", middle(second + i), 36, room - 5, aspect),
      text(down, middle(i), under, rounded(now.columnSums[i], 2)),
      text(room < 44 ? "answer tight" : "answer", middle(second + i), under, rounded(now.context[i], 2)),
    ]),
    ...names.flatMap((word, l) => [
      text("word", 0, line(l), word),
      text(across, between, line(l), rounded(now.rowSums[l], 2)),
      ...aspects.flatMap((_, i) => [
        ...cell("weight", i, l, now.weights[l][i], 2, 0.5 * now.weights[l][i]),
        ...cell("value", second + i, l, values[l][i], 0, 0.14 * values[l][i]),
      ]),
    ]),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, spread, normalise }) {
  if (normalise === "features") return [said(words.wrong)];
  return [said(spread === 0 ? words.same : words.right)];
}

function tables({ words, names, aspects, parameters }, now) {
  return [
    table([words.position, ...aspects, words.sum], [
      ...names.map((word, l) => [
        word, ...now.weights[l].map(weight => exact(weight, "weight")), exact(now.rowSums[l], "row_sum"),
      ]),
      [words.sum, ...now.columnSums.map(total => exact(total, "column_sum")), ""],
    ]),
    table([words.context, words.number], aspects.map((aspect, i) => [aspect, exact(now.context[i], "context")])),
    table([words.parameter, words.number], Object.entries(parameters).map(([name, value]) => [name, written(value)])),
  ];
}

function draw(state, now, width) {
  return { body: [paint(state, now, width)], report: report(state), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, names, spread, query, normalise }) {
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "s", word: words.spread,
      min: 0, max: 1, step: 0.01, value: spread, text: rounded(spread, 2), set: value => ({ spread: value }),
    },
    {
      kind: "choice", word: words.query, options: names.map(word => [word, word]),
      value: query, set: value => ({ query: value }),
    },
    {
      kind: "choice", word: words.normalise, options: ["positions", "features"].map(name => [name, words[name]]),
      value: normalise, set: value => ({ normalise: value }),
    },
  ] }];
}

export default explorer({ compute, draw, controls });
