// A sentence that the reader corrupts, and the bars of five metrics that compare it with the reference.
import { addUp, element, exact, fitted, legend, NARROW, picture, rounded, said, table } from "./kit.js";
import { explorer } from "./stage.js";

const METRICS = ["bleu", "meteor", "wer", "per", "exact"];
const CORRUPTIONS = ["none", "swap", "drop", "repeat", "similar", "different", "truncate"];
const BLIND = 1e-9; // a smaller change of a score is none

// --- the arithmetic, as in attn_course/evaluation: bleu.py, meteor.py and error_rates.py ---------

function count(items) {
  const counts = new Map();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

// How many items two lists share, each as often as both have it.
function shared(some, others) {
  const there = count(others);
  return addUp([...count(some)].map(([item, times]) => Math.min(times, there.get(item) ?? 0)));
}

const ngrams = (sentence, n) => sentence.slice(n - 1).map((_, i) => sentence.slice(i, i + n).join(" "));

function bleu(reference, hypothesis) {
  const logs = [1, 2, 3, 4].map(n => {
    const grams = ngrams(hypothesis, n);
    return grams.length ? Math.log(shared(grams, ngrams(reference, n)) / grams.length) : -Infinity;
  });
  const [r, c] = [reference.length, hypothesis.length];
  if (c === 0) return 0;
  return (c < r ? Math.exp(1 - r / c) : 1) * Math.exp(addUp(logs) / 4);
}

// Every way to link equal words, each word at most once, as lists of pairs of positions.
function linkings(reference, hypothesis, at = 0, taken = []) {
  if (at === hypothesis.length) return [[]];
  const ends = [...reference.keys()].filter(j => reference[j] === hypothesis[at] && !taken.includes(j));
  return [
    ...linkings(reference, hypothesis, at + 1, taken),
    ...ends.flatMap(j => linkings(reference, hypothesis, at + 1, [...taken, j]).map(rest => [[at, j], ...rest])),
  ];
}

const crossings = links => addUp(links.map(([i, j]) => links.filter(([k, l]) => i < k && j > l).length));
const chunks = links => links.filter(([i, j]) => !links.some(([k, l]) => k === i - 1 && l === j - 1)).length;

// The form of 2005 for equal words: most links, then fewest crossings, then fewest chunks.
function meteor(reference, hypothesis) {
  const ranked = linkings(reference, hypothesis)
    .map(links => [-links.length, crossings(links), chunks(links)])
    .sort((one, other) => one[0] - other[0] || one[1] - other[1] || one[2] - other[2]);
  const [m, , pieces] = [-ranked[0][0], ...ranked[0].slice(1)];
  if (m === 0) return 0;
  const [precision, recall] = [m / hypothesis.length, m / reference.length];
  return (10 * precision * recall) / (recall + 9 * precision) * (1 - 0.5 * (pieces / m) ** 3);
}

function edits(reference, hypothesis) {
  let row = [...Array(hypothesis.length + 1).keys()];
  reference.forEach((word, i) => {
    const next = [i + 1];
    hypothesis.forEach((other, j) =>
      next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (word === other ? 0 : 1))));
    row = next;
  });
  return row.at(-1);
}

function scoresOf(reference, hypothesis) {
  const n = reference.length;
  const longer = Math.max(n, hypothesis.length);
  return {
    bleu: bleu(reference, hypothesis),
    meteor: meteor(reference, hypothesis),
    wer: 1 - edits(reference, hypothesis) / n,
    per: 1 - (longer - shared(hypothesis, reference)) / n,
    exact: reference.join(" ") === hypothesis.join(" ") ? 1 : 0,
  };
}

// Columns of the picture: a word of the reference, the word below it, and whether they agree.
function columnsOf({ reference, similar, different, corruption, position }) {
  const at = position - 1;
  const below = [...reference];
  if (corruption === "swap") [below[at], below[at + 1]] = [reference[at + 1], reference[at]];
  if (corruption === "drop") below[at] = null;
  if (corruption === "similar") below[at] = similar[at];
  if (corruption === "different") below[at] = different[at];
  if (corruption === "truncate") below.fill(null, position);
  const columns = reference.map((word, i) => [word, below[i]]);
  if (corruption === "repeat") columns.splice(position, 0, [null, reference[at]]);
  return columns;
}

const reach = ({ reference, corruption }) =>
  reference.length - (corruption === "swap" || corruption === "truncate" ? 1 : 0);

function compute(state) {
  const { reference, position } = state;
  // A link may say anything.
  if (!Number.isInteger(position) || position < 1 || position > reach(state)) throw new Error(`no word ${position}`);
  const columns = columnsOf(state);
  const hypothesis = columns.map(([, word]) => word).filter(word => word !== null);
  const [scores, sound] = [scoresOf(reference, hypothesis), scoresOf(reference, reference)];
  const changes = Object.fromEntries(METRICS.map(name => [name, scores[name] / sound[name] - 1]));
  const isBlind = name => state.corruption !== "none" && Math.abs(changes[name]) < BLIND;
  return { columns, hypothesis, scores, sound, changes, blind: METRICS.filter(isBlind) };
}

// --- the picture: two sentences, and a bar per metric ---------------------------------------------

function sentences({ words }, columns, width) {
  const room = width / columns.length;
  const word = (text, i, y, isOther) =>
    fitted(isOther ? "answer tight" : "below ink", (i + 0.5) * room, y, room - 4, text);
  const lines = columns.flatMap(([above, below], i) => {
    const isOther = above !== below;
    const lost = element("text", { class: "below struck", x: (i + 0.5) * room, y: 34, "data-room": room - 4 }, above ?? "");
    const first = above === null ? [] : [below === null ? lost : word(above, i, 34, false)];
    const mark = isOther && below !== null
      ? [element("rect", { class: "cell value", x: i * room + 1, y: 61, width: room - 2, height: 20, rx: 3, "fill-opacity": 0.25 })]
      : [];
    const second = below === null ? [] : [word(below, i, 75, isOther)];
    return [...first, ...mark, ...second];
  });
  return [
    element("text", { class: "word", x: 0, y: 14 }, words.reference),
    element("text", { class: "word", x: 0, y: 55 }, words.corrupted),
    ...lines,
  ];
}

function bars({ words }, { scores, sound, blind }, width) {
  const isNarrow = width < NARROW;
  const [left, right, row] = isNarrow ? [76, 78, 24] : [96, 100, 28];
  const long = width - left - right;
  const thick = row - 10;
  return METRICS.flatMap((name, i) => {
    const y = 96 + i * row;
    const base = y + thick / 2 + 4;
    const score = `${rounded(scores[name], 3)}`;
    return [
      fitted("beside ink", left - 7, base, left - 8, words[name]),
      element("rect", { class: "bar score", x: left, y, width: long * Math.max(0, scores[name]), height: thick }),
      element("rect", { class: "hollow", x: left, y, width: long * sound[name], height: thick }),
      fitted("ink", width - right + 8, base, right - 10, blind.includes(name) ? `${score} ${words.blind}` : score),
    ];
  });
}

function paint(state, now, width) {
  const height = 96 + METRICS.length * (width < NARROW ? 24 : 28);
  return picture(state, "steady", width, height, ...sentences(state, now.columns, width), ...bars(state, now, width));
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function changeSaid({ words, reference, similar, different, corruption, position }) {
  const at = position - 1;
  const [word, next] = [reference[at], reference[at + 1] ?? ""];
  const put = corruption === "similar" ? similar[at] : different[at];
  return words[`said_${corruption}`].replace("{word}", word).replace("{next}", next).replace("{new}", put);
}

function report(state, { changes, blind }) {
  const { words, corruption } = state;
  const first = element("span", { class: "line" }, changeSaid(state));
  if (corruption === "none") return [first];
  const seen = blind.length
    ? element("span", {}, `${words.somebody} `, element("b", {}, blind.map(name => words[name]).join(", ")), ".")
    : said(words.nobody);
  // An exact match falls to 0 at once, so it says nothing about how far a score may fall.
  const graded = METRICS.filter(name => name !== "exact" && !blind.includes(name)).sort((one, other) => changes[one] - changes[other]);
  const [worst, best] = [graded[0], graded.at(-1)];
  const told = (word, name) => said(`${word} ${words[name]}, ${rounded(100 * changes[name], 0)} %.`);
  return [first, seen, ...(graded.length > 1 ? [told(words.most, worst), told(words.least, best)] : [])];
}

function tables({ words }, { scores, sound, changes }) {
  return [
    table([words.metric, words.value, words.of_reference, words.change], METRICS.map(name => [
      words[name], exact(scores[name], name), exact(sound[name], "sound"), exact(changes[name], "change"),
    ])),
  ];
}

function draw(state, now, width) {
  const { words } = state;
  return {
    body: [
      paint(state, now, width),
      legend(["hollow", words.sound]),
      element("p", { class: "note" }, words.note),
    ],
    report: report(state, now), tables: tables(state, now),
  };
}

// --- controls ------------------------------------------------------------------------------------

function controls(state) {
  const { words, reference, corruption, position } = state;
  return [{ kind: "controls", of: [
    {
      kind: "choice", word: words.corruption, options: CORRUPTIONS.map(name => [name, words[name]]), value: corruption,
      set: value => ({ corruption: value, position: Math.min(position, reach({ reference, corruption: value })) }),
    },
    {
      kind: "slider", word: words.position,
      min: 1, max: reach(state), step: 1, value: position, text: `${position}: ${reference[position - 1]}`,
      set: value => ({ position: value }),
    },
  ] }];
}

export default explorer({ compute, draw, controls });
