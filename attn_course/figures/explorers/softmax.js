// Softmax under your hand: move scores and temperature, hide keys, see the weights follow.
import { addUp, bar, chart, clamp, element, entry, exact, fitted, legend, MARGIN, named, NARROW, picture, rounded, said, scale, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/alignment/soft.py -----------------------------------------

function compute({ scores, mask, temperature, masking }) {
  const everyone = mask.map(() => true);
  const whole = softmax(scores, masking === "before" ? mask : everyone, temperature);
  const weights = whole.map((weight, l) => (mask[l] ? weight : 0));
  const lost = whole.map((weight, l) => weight - weights[l]); // 0 where hidden before the softmax
  const hides = !mask.every(Boolean);
  const isNothing = !mask.some(Boolean);
  const isShort = !isNothing && hides && masking === "after";
  // Weights that do not add up to 1 have no entropy.
  const entropy = -addUp(weights.filter(weight => weight > 0).map(weight => weight * Math.log(weight))) + 0;
  return {
    weights, lost, total: addUp(weights), entropy: isNothing || isShort ? null : entropy, isNothing, isShort,
    correct: isShort ? softmax(scores, mask, temperature) : weights,
  };
}

// --- the picture ---------------------------------------------------------------------------------

// Above and below the scores a number has room.
function layout(width) {
  return width < NARROW
    ? { height: 238, scores: { top: 36, bottom: 102 }, weights: { top: 146, bottom: 212 } }
    : { height: 340, scores: { top: 40, bottom: 152 }, weights: { top: 206, bottom: 306 } };
}

function column(width, names) {
  const room = (width - MARGIN.left - MARGIN.right) / names.length;
  return { middle: l => MARGIN.left + (l + 0.5) * room, at: x => Math.floor((x - MARGIN.left) / room), room };
}

function paint(state, now, width) {
  const { names, scores, mask, masking, frame, words } = state;
  const { middle, room } = column(width, names);
  const rows = layout(width);
  const high = scale(frame, [rows.scores.bottom, rows.scores.top]);
  const tall = scale([0, 1], [rows.weights.bottom, rows.weights.top]);
  const { rule, beside, title, below, levels } = chart(width);
  const thick = Math.min(36, 0.64 * room);
  const counts = l => mask[l] || masking === "after"; // does the score reach the softmax?

  return picture(state, "upright", width, rows.height,
    title(14, words.scores),
    title(rows.weights.top - 20, words.weights),
    ...levels(high, frame.map(value => ({ value, text: rounded(value, 0) }))),
    ...levels(tall, [0.5, 1].map(value => ({ value, text: String(value) }))),
    ...names.flatMap((key, l) => [
      bar(counts(l) ? "bar score" : "bar hidden", middle(l), high(0), high(scores[l]), thick),
      below(middle(l), high(scores[l]) + (scores[l] >= 0 ? -6 : 15), counts(l) ? rounded(scores[l], 1) : "−∞"),
      bar("bar weight", middle(l), tall(0), tall(now.weights[l]), thick),
      ...(now.lost[l] > 0 ? [bar("bar hidden", middle(l), tall(0), tall(now.lost[l]), thick)] : []),
      ...(now.isShort && mask[l] ? [bar("correct", middle(l), tall(0), tall(now.correct[l]), thick + 4)] : []),
      below(middle(l), tall(Math.max(now.weights[l] + now.lost[l], now.correct[l])) - 6, rounded(now.weights[l], 2)),
      fitted(mask[l] ? "below" : "below struck", middle(l), rows.weights.bottom + 20, room - 4, key),
    ]),
    rule(high(0), "axis"),
    rule(rows.weights.bottom, "axis"),
    beside(high(0), "0"),
    beside(rows.weights.bottom, "0"),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function mostWeight({ words, names }, { weights }) {
  const largest = Math.max(...weights);
  const text = `${names[weights.indexOf(largest)]} ${rounded(largest, 2)}`;
  return element("span", {}, `${words.most} `, element("b", {}, text));
}

function report(state, now) {
  const { words } = state;
  return [
    ...(now.isNothing ? [] : [mostWeight(state, now)]),
    named(words.total, now.total),
    ...(now.entropy === null ? [] : [named(words.entropy, now.entropy), named(words.equal, Math.exp(now.entropy))]),
    ...(now.isNothing ? [said(words.nothing)] : []),
    ...(now.isShort ? [said(words.short)] : []),
  ];
}

function tables({ words, names, scores, mask, temperature }, now) {
  return [
    table([words.quantity, words.number], [
      [words.temperature, exact(temperature, "temperature")],
      [words.total, exact(now.total, "total")],
      [words.entropy, now.entropy === null ? words.none : exact(now.entropy, "entropy")],
    ]),
    table([words.key, words.seen, words.score, words.weight], names.map((key, l) => [
      key,
      mask[l] ? words.yes : words.no,
      exact(scores[l], "score"),
      exact(now.weights[l], "weight"),
    ])),
  ];
}

function draw(state, now, width) {
  const { words } = state;
  const signs = now.isShort ? [["bar hidden", words.lost], ["correct", words.correct]] : [];
  return { body: [paint(state, now, width), legend(...signs)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls(state) {
  const { words, names, frame, scores, mask, temperature, masking } = state;
  const exponent = Math.log10(temperature);
  const perKey = names.map((key, l) => ({
    kind: "slider", word: key, label: words.score_of.replace("{key}", key),
    min: frame[0], max: frame[1], step: 0.1, value: scores[l], text: rounded(scores[l], 1),
    set: value => entry(state, "scores", l, value),
    tick: { label: words.attend.replace("{key}", key), value: mask[l], set: value => entry(state, "mask", l, value) },
  }));
  return [
    { kind: "controls", of: [
      {
        // The slider moves the logarithm: as much room from 0.1 to 1 as from 1 to 10.
        kind: "slider", symbol: "τ", word: words.temperature,
        min: Math.min(-1, exponent), max: Math.max(1, exponent), step: 0.05, value: exponent,
        text: String(Number(temperature.toPrecision(3))),
        set: value => ({ temperature: Number((10 ** value).toPrecision(3)) }),
      },
      {
        kind: "choice", word: words.masking, options: ["before", "after"].map(name => [name, words[name]]),
        value: masking, set: value => ({ masking: value }),
      },
    ] },
    { kind: "controls small", of: perKey },
  ];
}

// A score's bar follows a mouse, too; the sliders serve fingers and the keyboard.
// A finger that moves up and down scrolls the page.
function hold({ names }, width, x, y) {
  const { scores, weights } = layout(width);
  const l = column(width, names).at(x);
  return y < (scores.bottom + weights.top) / 2 && l >= 0 && l < names.length ? l : null;
}

function pull(state, width, x, y, l) {
  const { scores } = layout(width);
  const score = scale(state.frame, [scores.bottom, scores.top]).invert(y);
  return entry(state, "scores", l, Number(clamp(score, state.frame).toFixed(1)));
}

export default explorer({ compute, draw, controls, hold, pull, fingers: "never" });
