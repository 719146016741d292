// Whom does a node prefer? Four nodes rank the same four neighbours, by GAT and by GATv2.
import { counted, element, exact, legend, NARROW, picture, rounded, said, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/graphs.py -------------------------------------------------

const leaky = x => (x > 0 ? x : 0.2 * x);

const SCORES = {
  GAT: (a_1, a_2, query, key) => leaky(a_1 * query + a_2 * key),
  GATv2: (a_1, a_2, query, key) => a_1 * leaky(query - key) + a_2 * leaky(key - query),
};

const alike = weight => Number(weight.toFixed(9)); // weights that agree so far are equal

function layer(numbers, score) {
  const weights = numbers.map(query => softmax(numbers.map(key => score(query, key))));
  // Of equal weights the first comes first: `sort` keeps their order.
  const rankings = weights.map(row => [...row.keys()].sort((i, j) => alike(row[j]) - alike(row[i])));
  const favourites = rankings.map(([first, second], i) =>
    (alike(weights[i][first]) > alike(weights[i][second]) ? first : null));
  return {
    weights, rankings, favourites,
    different: new Set(rankings.map(String)).size,
    served: favourites.filter((favourite, i) => favourite === i).length,
  };
}

function compute({ numbers, node, a_1, a_2 }) {
  if (!numbers[node]?.toFixed) throw new Error(`there is no node ${node}`); // a link may say anything
  return Object.fromEntries(Object.entries(SCORES).map(([name, score]) =>
    [name, layer(numbers, (query, key) => score(a_1, a_2, query, key))]));
}

// --- the picture: a graph for each layer ----------------------------------------------------------

const TOP = 46;
const RADIUS = 13;
const WIDEST = 9; // pixels, of the line of a weight of 1

function graph({ numbers, node }, name, { weights, rankings, favourites }, start, room, row) {
  const [left, right] = [start + RADIUS + 4, start + room - 66];
  const y = i => TOP + i * row;
  const edge = (i, j) => `M${left} ${y(i)}L${right} ${y(j)}`;
  const circle = (kind, x, i, r = RADIUS) => element("circle", { class: kind, cx: x, cy: y(i), r });
  const text = (kind, x, i, word) => element("text", { class: kind, x, y: y(i) + 4 }, word);
  return [
    element("text", { class: "answer", x: (left + right) / 2, y: 18 }, name),
    ...weights[node].map((weight, j) =>
      element("path", { class: "stem", style: `stroke-width: ${(WIDEST * weight).toFixed(3)}px`, d: edge(node, j) })),
    ...favourites.flatMap((j, i) => (j === null ? [] : [element("path", { class: "gaze", d: edge(i, j) })])),
    ...numbers.flatMap((number, i) => [
      circle("stage query", left, i),
      text(i === node ? "answer" : "below", left, i, `${number}`),
      circle("seen", right, i),
      text("below", right, i, `${number}`),
      text("ink", right + RADIUS + 6, rankings[node][i], `${i + 1}.`),
      text("end", start + room - 2, i, rounded(weights[node][i], 2)),
    ]),
    circle("correct", right, node, RADIUS + 3),
  ];
}

function paint(state, now, width) {
  const isNarrow = width < NARROW;
  const [row, gap] = isNarrow ? [38, 14] : [46, 50];
  const room = (width - gap) / 2;
  const graphs = Object.entries(now).flatMap(([name, found], k) =>
    graph(state, name, found, k * (room + gap), room, row));
  return picture(state, "steady", width, TOP + (state.numbers.length - 1) * row + RADIUS + 8, ...graphs);
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, numbers, node }, now) {
  return Object.entries(now).map(([name, { favourites, different, served }]) => said(words.says
    .replace("{layer}", name).replace("{node}", node).replace("{favourite}", favourites[node] ?? words.tie)
    .replace("{rankings}", different).replace("{served}", served).replace("{nodes}", numbers.length)));
}

function tables({ words, numbers, node }, now) {
  return Object.entries(now).flatMap(([name, { weights, rankings, favourites, different, served }]) => [
    table([name, words.rank, words.weight], numbers.map((number, j) => [
      `${words.key} ${number}`, counted(rankings[node].indexOf(j) + 1, `${name}_rank`), exact(weights[node][j], `${name}_weight`),
    ])),
    table([name, words.favourite], favourites.map((favourite, i) => [
      `${words.node} ${numbers[i]}`, favourite === null ? words.tie : counted(favourite, `${name}_favourite`),
    ])),
    table([words.quantity, words.number], [
      [words.rankings, counted(different, `${name}_rankings`)],
      [words.served, counted(served, `${name}_served`)],
    ]),
  ]);
}

function draw(state, now, width) {
  const { weight, favourite, correct } = state.words;
  const signs = [["bar weight", weight], ["truth", favourite], ["correct", correct]];
  return { body: [paint(state, now, width), legend(...signs)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, numbers, reach, node, a_1, a_2 }) {
  const slider = (sub, word, trait, value) => ({
    kind: "slider", symbol: "a", sub, word, min: -reach, max: reach, step: 0.25,
    value, text: rounded(value, 2), set: moved => ({ [trait]: moved }),
  });
  return [{ kind: "controls small", of: [
    {
      kind: "slider", word: words.node, min: 0, max: numbers.length - 1, step: 1,
      value: node, text: `${numbers[node]}`, set: value => ({ node: value }),
    },
    slider("1", words.own, "a_1", a_1),
    slider("2", words.other, "a_2", a_2),
  ] }];
}

export default explorer({ compute, draw, controls });
