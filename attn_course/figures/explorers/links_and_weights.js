// Links and weights: AER sees only the largest weight of a row, correctness only the weight on gold.
import { addUp, counted, element, exact, fitted, NARROW, picture, rounded, said, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/evaluation: links.py and correctness.py --------------------

const mean = numbers => addUp(numbers) / numbers.length;
const many = flags => flags.filter(Boolean).length;

// One row: what the gold word leaves goes to one wrong word, or equally to all of them.
function weigh({ source, gold, rivals, right, gathered }, i) {
  const rest = 1 - right[i];
  const wrong = j => (!gathered[i] ? rest / (source.length - 1) : j === rivals[i] ? rest : 0);
  return source.map((_, j) => (j === gold[i] ? right[i] : wrong(j)));
}

function compute(state) {
  const { source, target, gold, sure, right } = state;
  if (!right.every(weight => weight >= 0 && weight <= 1)) throw new Error("no weight"); // a link may say anything
  const weights = target.map((_, i) => weigh(state, i));
  const largest = weights.map(row => Math.max(...row));
  const links = weights.map((row, i) => row.indexOf(largest[i])); // of equal weights the first
  // A tie between wrong words only is wrong in any case.
  const isTied = weights.map((row, i) => row.some((weight, j) => j !== gold[i] && weight === largest[i] && row[gold[i]] === weight));
  const shares = weights.map((row, i) => row[gold[i]] / addUp(row));
  const isHit = links.map((link, i) => link === gold[i]);
  const [drawn, certain] = [links.length, many(sure)];
  const [metSure, metPossible] = [many(isHit.map((hit, i) => hit && sure[i])), many(isHit)];
  return {
    weights, links, isTied, isHit, shares, drawn, certain, metSure, metPossible,
    errorRate: 1 - (metSure + metPossible) / (drawn + certain),
    correctness: mean(shares),
    uniform: 1 / source.length, // every row has one gold word
  };
}

// --- the picture: the table of weights, and two measures beside or below it -----------------------

const TOP = 26;
const GAUGE = 46; // the height of a measure with its words

function layout({ source, target }, width) {
  const isNarrow = width < NARROW;
  const left = isNarrow ? 58 : 68;
  const row = isNarrow ? 27 : 32;
  const across = isNarrow ? width - 2 : 0.64 * width;
  const bottom = TOP + target.length * row;
  return {
    left, row, across, bottom,
    column: (across - left) / source.length,
    measures: isNarrow
      ? { x: 2, y: bottom + 16, room: width - 4, apart: GAUGE, drop: 0 }
      : { x: across + 30, y: TOP + 14, room: width - across - 32, apart: GAUGE + 34, drop: 15 },
    height: isNarrow ? bottom + 16 + 2 * GAUGE : bottom + 4,
  };
}

function cells({ gold, sure, target }, now, { left, column, row }) {
  const outline = i => ({
    class: "correct", x: left + gold[i] * column + 3, y: TOP + i * row + 3, width: column - 6, height: row - 6, rx: 2,
    ...(sure[i] ? {} : { "stroke-dasharray": "5 3" }),
  });
  return target.flatMap((_, i) => [
    ...now.weights[i].flatMap((weight, j) => [
      element("rect", {
        class: "cell weight", x: left + j * column, y: TOP + i * row, width: column, height: row,
        "fill-opacity": 0.6 * weight,
      }),
      element("text", { class: "below ink", x: left + (j + 0.56) * column, y: TOP + (i + 0.5) * row + 4 }, rounded(weight, 2)),
    ]),
    element("rect", outline(i)),
    element("circle", {
      class: now.isTied[i] ? "unjudged" : "prediction",
      cx: left + (now.links[i] + 0.2) * column, cy: TOP + (i + 0.5) * row, r: 4.5,
    }),
  ]);
}

// A bar from 0 to 1 below its name and its number. Which way is better comes below the name where
// there is height, or else after the number.
function measure({ x, room, drop }, y, name, aim, kind, number) {
  const bar = { x, y: y + drop + 7, height: 11 };
  return [
    element("text", { class: "word ink", x, y }, name),
    element("text", { class: "end ink", x: x + room, y }, drop ? rounded(number, 2) : `${rounded(number, 2)}, ${aim}`),
    ...(drop ? [element("text", { class: "word", x, y: y + drop }, aim)] : []),
    element("rect", { class: kind, ...bar, width: number * room }),
    element("rect", { class: "hollow", ...bar, width: room }),
  ];
}

function measures({ words }, now, place) {
  const { x, y, room, apart, drop } = place;
  const uniform = x + now.uniform * room;
  const below = y + apart + drop;
  return [
    ...measure(place, y, words.aer, words.lower, "prediction", now.errorRate),
    ...measure(place, y + apart, words.correctness, words.higher, "bar weight", now.correctness),
    element("path", { class: "axis", d: `M${uniform} ${below + 7}v17` }),
    fitted("word", uniform + 4, below + 30, x + room - uniform - 4, `${words.equal}: ${rounded(now.uniform, 2)}`),
  ];
}

function paint(state, now, width) {
  const { source, target, row: chosen } = state;
  const place = layout(state, width);
  const { left, column, row, across } = place;
  const from = TOP + (chosen ? chosen - 1 : 0) * row;
  const height = chosen ? row : target.length * row;
  const isChosen = i => chosen === 0 || chosen === i + 1;
  return picture(state, "rows", width, place.height,
    element("rect", { class: "band", x: 0, y: from, width: left, height }),
    ...source.map((word, j) => fitted("below", left + (j + 0.5) * column, 17, column - 6, word)),
    ...target.map((word, i) => fitted(isChosen(i) ? "query" : "ink", 4, TOP + (i + 0.5) * row + 4, left - 9, word)),
    ...cells(state, now, place),
    element("path", { class: "query", d: `M0.75 ${from}H${across}v${height}H0.75Z` }),
    ...measures(state, now, place.measures),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

const filled = (text, parts) =>
  Object.entries(parts).reduce((sentence, [name, part]) => sentence.replace(`{${name}}`, part), text);

function verdict({ source, target, gold, row, words }, now) {
  if (row === 0) return filled(words.all_right, { hits: now.metPossible, rows: target.length });
  const i = row - 1;
  const sentence = now.isTied[i] ? words.row_tied : now.isHit[i] ? words.row_right : words.row_wrong;
  return filled(sentence, { target: target[i], weight: rounded(now.weights[i][gold[i]], 2), source: source[gold[i]] });
}

function report(state, now) {
  const { words } = state;
  const bold = number => element("b", {}, rounded(number, 2));
  const { metSure, metPossible, drawn, certain } = now;
  return [
    said(verdict(state, now)),
    element("span", {}, `${words.aer} = 1 − (${metSure} + ${metPossible})/(${drawn} + ${certain}) = `, bold(now.errorRate), "."),
    element("span", {}, `${words.correctness} `, bold(now.correctness), ` (${words.equal}: ${rounded(now.uniform, 2)}).`),
    ...(now.isTied.includes(true) ? [said(words.tie)] : []),
  ];
}

function tables({ source, target, words }, now) {
  return [
    table([words.target_word, ...source], target.map((word, i) => [word, ...now.weights[i].map(weight => exact(weight, "weight"))])),
    table([words.target_word, words.link, words.on_gold], target.map((word, i) => [
      word,
      element("span", {}, counted(now.links[i] + 1, "source"), ` ${source[now.links[i]]}${now.isTied[i] ? ` (${words.tied})` : ""}`),
      exact(now.shares[i], "share"),
    ])),
    table([words.quantity, words.number], [
      [words.drawn, counted(now.drawn, "drawn")],
      [words.sure_links, counted(now.certain, "sure")],
      [words.drawn_and_sure, counted(now.metSure, "drawn_and_sure")],
      [words.drawn_and_possible, counted(now.metPossible, "drawn_and_possible")],
      [words.aer, exact(now.errorRate, "aer")],
      [words.correctness, exact(now.correctness, "correctness")],
      [`${words.correctness}, ${words.equal}`, exact(now.uniform, "uniform")],
    ]),
  ];
}

function signs({ words }, { isTied }) {
  const sign = (kind, word, style = {}) =>
    element("span", {}, element("span", { class: `sign ${kind}`, ...style }), word);
  return element("p", { class: "legend" },
    sign("bar weight", words.weight),
    sign("link", words.link),
    ...(isTied.includes(true) ? [sign("link", words.tied, { style: "background: var(--paper); border: 1.5px solid var(--ink)" })] : []),
    sign("correct", words.sure),
    sign("correct", words.possible, { style: "border-style: dashed" }),
  );
}

function draw(state, now, width) {
  return { body: [signs(state, now), paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls, and a hand that chooses a row ------------------------------------------------------

// The traits that put a value into the chosen row, or into all rows.
function into({ row, ...state }, trait, value) {
  return { [trait]: state[trait].map((old, i) => (row === 0 || row === i + 1 ? value : old)) };
}

function controls(state) {
  const { target, right, gathered, row, words } = state;
  const weight = row === 0 ? mean(right) : right[row - 1];
  const alike = (share, isGathered) => ({ right: target.map(() => share), gathered: target.map(() => isGathered) });
  return [{ kind: "controls", of: [
    {
      kind: "choice", word: words.row, options: [words.all, ...target].map((word, i) => [i, word]),
      value: row, set: value => ({ row: Number(value) }),
    },
    {
      kind: "slider", word: words.right,
      min: 0, max: 1, step: 0.01, value: weight, text: rounded(weight, 2), set: value => into(state, "right", value),
    },
    {
      kind: "toggle", word: words.gathered,
      value: row === 0 ? gathered.every(Boolean) : gathered[row - 1], set: value => into(state, "gathered", value),
    },
    { kind: "buttons", word: words.presets, options: [
      { word: words.barely, traits: alike(0.26, false) },
      { word: words.barely_wrong, traits: alike(0.49, true) },
      { word: words.uniform, traits: alike(0.25, false) },
      { word: words.lost, traits: { right: target.map((_, i) => (i === 1 ? 0 : 1)), gathered: target.map(() => true) } },
    ] },
  ] }];
}

// The row at this height, or null.
function hold(state, width, x, y) {
  const { row, across } = layout(state, width);
  const i = Math.floor((y - TOP) / row);
  return x <= across && i >= 0 && i < state.target.length ? i + 1 : null;
}

function pull(state, width, x, y) {
  const row = hold(state, width, x, y);
  return row === null ? {} : { row };
}

export default explorer({ compute, draw, controls, hold, pull });
