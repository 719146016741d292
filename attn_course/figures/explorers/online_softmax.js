// Online softmax block by block: what is kept, and what happens without rescaling.
import { addUp, bar, chart, element, exact, fitted, legend, MARGIN, named, NARROW, picture, rounded, said, scale, short, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/scale/blockwise.py ----------------------------------------

// The places of the words in the order in which they arrive; equal scores keep their order.
function arriving({ scores, order }) {
  const places = scores.map((_, l) => l);
  const rise = { sentence: 0, rising: 1, falling: -1 }[order];
  return rise ? places.sort((a, b) => rise * (scores[a] - scores[b]) || a - b) : places;
}

function compute(state) {
  const { scores, values, block, step, rescale } = state;
  const places = arriving(state);
  const count = Math.ceil(places.length / block);
  const seen = Math.min(step, count);
  const kept = [];
  const shares = []; // what each word adds to the denominator, measured from the maximum used
  let [m, total, o] = [-Infinity, 0, 0];
  for (let b = 0; b < seen; b += 1) {
    const here = places.slice(b * block, (b + 1) * block);
    const before = m;
    m = Math.max(before, ...here.map(l => scores[l]));
    const factor = rescale ? Math.exp(before - m) : 1;
    const powers = here.map(l => Math.exp(scores[l] - m));
    shares.forEach((share, i) => (shares[i] = share * factor));
    shares.push(...powers);
    total = total * factor + addUp(powers);
    o = o * factor + addUp(here.map((l, i) => powers[i] * values[l]));
    kept.push({ before, m, factor, total, o, context: o / total });
  }
  const correct = softmax(places.slice(0, shares.length).map(l => scores[l]));
  const weights = shares.map(share => share / total);
  const right = addUp(correct.map((weight, i) => weight * values[places[i]]));
  const isWrong = correct.some((weight, i) => Math.abs(weight - weights[i]) > 1e-9);
  return { places, count, seen, kept, weights, correct, right, isWrong };
}

// --- the picture ---------------------------------------------------------------------------------

function layout(width) {
  return width < NARROW
    ? { height: 236, scores: { top: 56, bottom: 100 }, weights: { top: 136, bottom: 192 } }
    : { height: 318, scores: { top: 62, bottom: 132 }, weights: { top: 180, bottom: 268 } };
}

function paint(state, now, width) {
  const { names, scores, values, block, frame, words } = state;
  const rows = layout(width);
  const { rule, beside, title, below, levels, right } = chart(width);
  const room = (right - MARGIN.left) / names.length;
  const edge = i => MARGIN.left + i * room;
  const middle = i => edge(i + 0.5);
  const thick = Math.min(36, 0.64 * room);
  const high = scale(frame, [rows.scores.bottom, rows.scores.top]);
  const tall = scale([0, 1], [rows.weights.bottom, rows.weights.top]);
  const first = b => b * block;
  const after = b => Math.min((b + 1) * block, names.length);
  const top = 20;
  const isSeen = i => i < now.weights.length;
  const { m } = now.kept.at(-1);

  const blocks = Array.from({ length: now.count }, (_, b) => [
    ...(b === now.seen - 1 ? [element("rect", {
      class: "void", x: edge(first(b)) + 1, y: top, width: (after(b) - first(b)) * room - 2, height: rows.height - top,
    })] : []),
    fitted("tick below", (edge(first(b)) + edge(after(b))) / 2, top + 14, (after(b) - first(b)) * room - 6, `${words.block} ${b + 1}`),
  ]).flat();

  return picture(state, "steady", width, rows.height,
    ...blocks,
    title(14, words.scores),
    title(rows.weights.top - 16, words.weights),
    ...levels(high, frame.filter(value => value !== 0).map(value => ({ value, text: rounded(value, 0) }))),
    ...levels(tall, [{ value: 1, text: "1" }]),
    element("path", { class: "truth", d: `M${edge(0)} ${high(m)}H${edge(now.weights.length)}` }),
    ...now.places.flatMap((l, i) => [
      bar(isSeen(i) ? "bar score" : "bar hidden", middle(i), high(0), high(scores[l]), thick),
      below(middle(i), high(scores[l]) + (scores[l] >= 0 ? -5 : 14), rounded(scores[l], 1)),
      ...(isSeen(i) ? [
        bar("bar weight", middle(i), tall(0), tall(now.weights[i]), thick),
        ...(now.isWrong ? [bar("correct", middle(i), tall(0), tall(now.correct[i]), thick + 4)] : []),
        below(middle(i), tall(Math.max(now.weights[i], now.isWrong ? now.correct[i] : 0)) - 5, rounded(now.weights[i], 2)),
      ] : []),
      fitted(isSeen(i) ? "below ink" : "below", middle(i), rows.weights.bottom + 18, room - 4, names[l]),
      below(middle(i), rows.weights.bottom + 36, `${values[l]}`),
    ]),
    rule(high(0), "axis"),
    rule(rows.weights.bottom, "axis"),
    beside(high(0), "0"),
    beside(rows.weights.bottom, "0"),
    element("text", { class: "symbol beside", x: MARGIN.left - 7, y: rows.weights.bottom + 37 }, "v"),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

// A whole number is written as one: the scores of the sentence are.
const told = number => (Number.isInteger(number) ? rounded(number, 0) : short(number));

function verdict({ words, rescale }, { kept, isWrong }) {
  const { before, m, factor } = kept.at(-1);
  if (isWrong) return words.wrong;
  if (!rescale && kept.length > 1) return words.lucky;
  if (kept.length === 1) return words.first;
  if (m === before) return words.stays;
  return words.rises.replace("{old}", told(before)).replace("{new}", told(m)).replace("{factor}", told(factor));
}

function report(state, now) {
  const { words } = state;
  const { m, total, o, context } = now.kept.at(-1);
  return [
    element("span", {}, "m ", element("b", {}, told(m))), named("ℓ", total), named("o", o), named(words.context, context),
    ...(now.isWrong ? [named(words.right, now.right)] : []),
    element("span", { class: "line" }, verdict(state, now)),
  ];
}

function tables({ words, names, scores }, now) {
  return [
    table([words.block, "m", words.factor, "ℓ"], now.kept.map(({ m, factor, total }, b) => [
      `${b + 1}`, exact(m, "m"), exact(factor, "factor"), exact(total, "total"),
    ])),
    table([words.block, "o", words.context], now.kept.map(({ o, context }, b) => [
      `${b + 1}`, exact(o, "o"), exact(context, "context"),
    ])),
    table([words.key, words.score, words.weight, words.correct], now.weights.map((weight, i) => [
      names[now.places[i]], exact(scores[now.places[i]], "score"), exact(weight, "weight"), exact(now.correct[i], "correct"),
    ])),
  ];
}

function draw(state, now, width) {
  const signs = now.isWrong ? [["correct", state.words.correct]] : [];
  return { body: [paint(state, now, width), legend(...signs)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, scores, block, step, order, rescale }, { count }) {
  const blocks = size => Math.ceil(scores.length / size);
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "", word: words.step,
      min: 1, max: count, step: 1, value: step, text: `${Math.min(step, count)} / ${count}`, set: value => ({ step: value }),
    },
    {
      kind: "choice", word: words.order, options: ["sentence", "rising", "falling"].map(name => [name, words[name]]),
      value: order, set: value => ({ order: value }),
    },
    {
      kind: "choice", word: words.size, options: [1, 2, 3].map(size => [size, `${size}`]),
      value: block, set: value => ({ block: Number(value), step: Math.min(step, blocks(Number(value))) }),
    },
    { kind: "toggle", word: words.rescale, value: rescale, set: value => ({ rescale: value }) },
  ] }];
}

export default explorer({ compute, draw, controls });
