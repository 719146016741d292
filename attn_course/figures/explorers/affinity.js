// The affinity matrix: every word meets every word, and two sets of weights are read off one table.
import { addUp, element, exact, fitted, NARROW, picture, rounded, said, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/features/parallel.py, with identity matrices ---------------

const times = (rows, vector) => rows.map(row => addUp(row.map((entry, i) => entry * vector[i])));
const turned = matrix => matrix[0].map((_, j) => matrix.map(row => row[j]));
const largest = rows => rows.map(row => Math.max(...row));

// The score of each word that collects the others, weighted by its row of affinities.
function projected(affinities, own, others, act, w) {
  return own.map((word, i) => addUp(word.map((entry, f) =>
    w * act(entry + addUp(others.map((other, j) => affinities[i][j] * other[f]))))));
}

function compute({ names, values, left, right_1, right_2, strength, act, reading, w }) {
  const vector = word => values[names.indexOf(word)];
  const first = left.map(vector);
  const second = [right_1, right_2].map(vector);
  const squash = act === "tanh" ? Math.tanh : x => x;
  const affinities = first.map(word => times(second, word).map(product => squash(strength * product)));
  const [scores_1, scores_2] = reading === "max"
    ? [largest(affinities), largest(turned(affinities))]
    : [projected(affinities, first, second, squash, w), projected(turned(affinities), second, first, squash, w)];
  return { affinities, weights_1: softmax(scores_1), weights_2: softmax(scores_2) };
}

// --- the picture ---------------------------------------------------------------------------------

const TOP = 44;
const LEFT = 58;

function paint(state, now, width) {
  const { left, right_1, right_2, words } = state;
  const row = width < NARROW ? 38 : 46;
  const room = (width - LEFT) / 4; // two columns of the table, a gap and the weights of the rows
  const middle = column => LEFT + (column + 0.5) * room;
  const line = i => TOP + (i + 0.5) * row + 5;
  const text = (kind, x, y, word) => element("text", { class: kind, x, y }, word);
  const strongest = Math.max(1, ...now.affinities.flat().map(Math.abs));
  const cell = (kind, column, i, number, strength) => [
    element("rect", {
      class: `cell ${kind}`, x: middle(column) - room / 2 + 2, y: TOP + i * row + 2,
      width: room - 4, height: row - 4, "fill-opacity": strength,
    }),
    text("below ink", middle(column), line(i), rounded(number, 2)),
  ];
  const below = left.length + 0.35; // where the weights of the columns are

  return picture(state, "steady", width, TOP + (below + 1) * row + 6,
    text("below", middle(0.5), 14, words.affinities),
    text("below", middle(3), 14, words.weights),
    ...[right_1, right_2].flatMap((word, j) => [
      fitted("below", middle(j), 34, room - 6, word),
      ...cell("weight", j, below, now.weights_2[j], 0.6 * now.weights_2[j]),
    ]),
    fitted("word", 0, line(below), LEFT - 4, words.weights),
    ...left.flatMap((word, i) => [
      fitted("word", 0, line(i), LEFT - 4, word),
      ...now.affinities[i].flatMap((affinity, j) => cell("value", j, i, affinity, 0.5 * Math.abs(affinity) / strongest)),
      ...cell("weight", 3, i, now.weights_1[i], 0.6 * now.weights_1[i]),
    ]),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, left, right_1, right_2, reading }, now) {
  const best = (names, weights) => {
    const most = Math.max(...weights);
    return `${names[weights.indexOf(most)]} ${rounded(most, 2)}`;
  };
  const found = `${words.most} ${best(left, now.weights_1)}, ${best([right_1, right_2], now.weights_2)}.`;
  return [said(found), said(reading === "max" ? words.by_max : words.by_projection)];
}

function tables({ words, left, right_1, right_2 }, now) {
  const right = [right_1, right_2];
  return [
    table([words.affinities, ...right], left.map((word, i) => [word, ...now.affinities[i].map(a => exact(a, "affinity"))])),
    table([words.word, words.weight], [
      ...left.map((word, i) => [word, exact(now.weights_1[i], "weight_1")]),
      ...right.map((word, j) => [word, exact(now.weights_2[j], "weight_2")]),
    ]),
  ];
}

function draw(state, now, width) {
  return { body: [paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, names, right_1, right_2, strength, act, reading }) {
  const any = names.map(word => [word, word]);
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "W", word: words.strength,
      min: 0, max: 2, step: 0.05, value: strength, text: rounded(strength, 2), set: value => ({ strength: value }),
    },
    {
      kind: "choice", word: words.act, options: ["identity", "tanh"].map(name => [name, words[name]]),
      value: act, set: value => ({ act: value }),
    },
    { kind: "choice", word: words.right_1, options: any, value: right_1, set: value => ({ right_1: value }) },
    { kind: "choice", word: words.right_2, options: any, value: right_2, set: value => ({ right_2: value }) },
    {
      kind: "choice", word: words.reading, options: ["projected", "max"].map(name => [name, words[name]]),
      value: reading, set: value => ({ reading: value }),
    },
  ] }];
}

export default explorer({ compute, draw, controls });
