// Ask six words: three sliders are the query, and weights and context follow.
import { addUp, bar, chart, element, entry, exact, fitted, MARGIN, NARROW, picture, rounded, said, scale, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/attention/context.py --------------------------------------

// A point doubles the votes as often as the query says, so the scores are in units of ln 2.
function compute({ query, features }) {
  const scores = features.map(word => Math.LN2 * addUp(word.map((points, j) => points * query[j])));
  const weights = softmax(scores);
  const mixed = shares => query.map((_, j) => addUp(features.map((word, l) => shares[l] * word[j])));
  return { scores, weights, context: mixed(weights), mean: mixed(features.map(() => 1 / features.length)) };
}

// --- the picture ---------------------------------------------------------------------------------

const CONTEXT_TO = 2; // no number of a word is larger

function layout(width) {
  return width < NARROW
    ? { height: 250, weights: { top: 40, bottom: 120 }, title: 164, rows: 184, step: 24 }
    : { height: 316, weights: { top: 44, bottom: 164 }, title: 214, rows: 236, step: 28 };
}

function paint(state, now, width) {
  const { names, aspects, words } = state;
  const rows = layout(width);
  const { rule, beside, title, below, levels, right } = chart(width);
  const room = (right - MARGIN.left) / names.length;
  const middle = l => MARGIN.left + (l + 0.5) * room;
  const tall = scale([0, 1], [rows.weights.bottom, rows.weights.top]);
  const thick = Math.min(40, 0.6 * room);
  const start = MARGIN.left + 62;
  // The numbers have a column of their own: beside the line of the mean they would seem to be its.
  const long = scale([0, CONTEXT_TO], [start, right - 44]);
  const y = j => rows.rows + j * rows.step;

  return picture(state, "upright", width, rows.height,
    title(14, words.weights),
    ...levels(tall, [0.5, 1].map(value => ({ value, text: String(value) }))),
    ...names.flatMap((name, l) => [
      bar("bar weight", middle(l), tall(0), tall(now.weights[l]), thick),
      below(middle(l), tall(now.weights[l]) - 6, rounded(now.weights[l], 2)),
      fitted("below", middle(l), rows.weights.bottom + 20, room - 4, name),
    ]),
    rule(rows.weights.bottom, "axis"),
    beside(rows.weights.bottom, "0"),
    title(rows.title, words.context),
    ...aspects.flatMap((aspect, j) => [
      element("text", { class: "tick", x: MARGIN.left, y: y(j) + 5 }, aspect),
      element("rect", { class: "bar score", x: start, y: y(j) - 7, width: Math.max(0, long(now.context[j]) - start), height: 14 }),
      element("path", { class: "axis", d: `M${long(now.mean[j])} ${y(j) - 10}V${y(j) + 10}` }),
      element("text", { class: "tick", x: right - 34, y: y(j) + 5 }, rounded(now.context[j], 2)),
    ]),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, names, query }, { weights, context }) {
  const largest = Math.max(...weights);
  const first = names.filter((_, l) => weights[l] > largest - 1e-9).join(", ");
  const isNothing = query.every(q => q === 0);
  return [
    isNothing
      ? said(words.nothing)
      : element("span", {}, `${words.most} `, element("b", {}, `${first} ${rounded(largest, 2)}`)),
    element("span", {}, `${words.mixed} `, element("b", {}, `(${context.map(number => rounded(number, 2)).join(", ")})`)),
  ];
}

function tables({ words, names, aspects, query }, { scores, weights, context }) {
  return [
    table([words.word, words.score, words.weight],
      names.map((name, l) => [name, exact(scores[l], "score"), exact(weights[l], "weight")])),
    table([words.aspect, words.asked, words.mixed],
      aspects.map((aspect, j) => [aspect, exact(query[j], "query"), exact(context[j], "context")])),
  ];
}

function draw(state, now, width) {
  return { body: [paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls(state) {
  const { questions, query, reach } = state;
  return [{ kind: "controls small", of: questions.map((question, j) => ({
    kind: "slider", word: question, min: -reach, max: reach, step: 0.5,
    value: query[j], text: rounded(query[j], 1), set: value => entry(state, "query", j, value),
  })) }];
}

export default explorer({ compute, draw, controls });
