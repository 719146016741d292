// Hard against soft alignment: draw keys one by one, and see what a baseline does to the gradient.
import { addUp, bar, chart, columns, counted, element, exact, legend, line, MARGIN, named, NARROW, picture, rounded, roundUp, scale, softmax, table, ticks } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/alignment/hard.py -----------------------------------------

const dot = (one, other) => addUp(one.map((number, i) => number * other[i]));

// The first key at which the running sum of the weights passes the uniform number.
function choose(weights, uniform) {
  let sum = 0;
  const sums = weights.map(weight => (sum += weight));
  return uniform.map(u => sums.findIndex(reached => reached > u * sum));
}

function compute({ scores, values, rewards, uniform, n, baseline }) {
  const weights = softmax(scores);
  const chosen = choose(weights, uniform.slice(0, n));
  const shares = scores.map((_, m) => chosen.filter(choice => choice === m).length / n);
  const expected = dot(weights, rewards);
  const gradient = weights.map((weight, j) => weight * (rewards[j] - expected));

  // REINFORCE's gradient when key m is drawn, and how far it is off, squared.
  const drawnGradient = (m, b) => weights.map((weight, j) => (rewards[m] - b) * ((j === m ? 1 : 0) - weight));
  const distance = (m, b) => addUp(drawnGradient(m, b).map((slope, j) => (slope - gradient[j]) ** 2));
  const spreadOf = chances => b => addUp(chances.map((chance, m) => chance * distance(m, b)));

  // |delta_m - a|^2, the squared length of the gradient of log a_m
  const length = weights.map(weight => 1 - 2 * weight + dot(weights, weights));
  const best = dot(weights.map((weight, m) => weight * length[m]), rewards) / dot(weights, length);

  let sum = 0;
  const running = chosen.map((m, i) => (sum += values[m]) / (i + 1));
  const each = chosen.map(m => drawnGradient(m, baseline));
  return {
    weights, chosen, shares, expected, best, gradient, running,
    soft: dot(weights, values),
    sampled: running[n - 1],
    estimate: scores.map((_, j) => addUp(each.map(slopes => slopes[j])) / n),
    variance: spreadOf(weights),
    estimatedVariance: spreadOf(shares),
  };
}

// --- the picture ---------------------------------------------------------------------------------

function layout(width) {
  return width < NARROW
    ? {
      height: 368, lead: 15, keys: { top: 24, bottom: 70 },
      context: { top: 144, bottom: 212 }, variance: { top: 260, bottom: 324 },
    }
    : {
      height: 530, lead: 17, keys: { top: 26, bottom: 106 },
      context: { top: 206, bottom: 316 }, variance: { top: 378, bottom: 484 },
    };
}

const across = (domain, width) => scale(domain, [MARGIN.left + 8, width - MARGIN.right - 8]);
const brief = number => rounded(number, 2).replace(/\.?0+$/, "");

function paint(state, now, width) {
  const rows = layout(width);
  return picture(state, "steady", width, rows.height,
    ...keys(rows, width, state, now), ...contexts(rows.context, width, state, now), ...variances(rows.variance, width, state, now));
}

function keys({ keys: row, lead }, width, { words, values, rewards }, { weights, shares }) {
  const { right, rule, title, below, symbol, levels } = chart(width);
  const x = scale([0.5, weights.length + 0.5], [MARGIN.left, right]);
  const top = roundUp(Math.max(...weights, ...shares));
  const y = scale([0, top], [row.bottom, row.top]);
  const thick = Math.min(56, 0.6 * (x(1) - x(0)));
  const lines = [["l", weights.map((_, l) => `${l + 1}`)], ["v", values.map(brief)], ["R", rewards.map(brief)]];
  return [
    title(row.top - 10, words.weights),
    ...levels(y, ticks(0, top, 2)),
    ...weights.map((weight, l) => bar("bar weight", x(l + 1), y(0), y(weight), thick)),
    ...shares.map((share, l) => element("path", { class: "second", d: `M${x(l + 1) - thick / 2 - 5} ${y(share)}h${thick + 10}` })),
    rule(y(0), "axis"),
    ...lines.flatMap(([letter, texts], i) => [
      symbol(row.bottom + lead * (i + 1) + 2, letter),
      ...texts.map((text, l) => below(x(l + 1), row.bottom + lead * (i + 1) + 2, text)),
    ]),
  ];
}

function contexts(row, width, { words, values, uniform, n }, { chosen, running, soft }) {
  const { right, rule, title, below, symbol, levels } = chart(width);
  const last = Math.min(uniform.length, Math.max(20, roundUp(n)));
  const x = across([1, last], width);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const reach = low < high ? [low, high] : [low - 1, high + 1];
  const y = scale(reach, [row.bottom - 6, row.top + 6]);
  return [
    title(row.top - 10, words.context),
    ...levels(y, ticks(...reach, 5)),
    ...chosen.map((m, i) => element("circle", { class: "seen", cx: x(i + 1), cy: y(values[m]), r: last > 60 ? 1.5 : 2.5 })),
    element("path", { class: "exact", d: `M${MARGIN.left} ${y(soft)}H${right}` }),
    element("path", { class: "fitted", d: line(running.map((mean, i) => [x(i + 1), y(mean)])) }),
    element("circle", { class: "prediction", cx: x(n), cy: y(running[n - 1]), r: 6 }),
    rule(row.bottom, "axis"),
    ...ticks(0, last, Math.min(6, width / 60)).filter(({ value }) => value > 0)
      .map(({ value, text }) => below(x(value), row.bottom + 18, text)),
    symbol(row.bottom + 18, "n"),
  ];
}

function variances(row, width, { words, span, baseline }, { variance, estimatedVariance, expected, best }) {
  const { rule, title, below, symbol, levels } = chart(width);
  const x = across(span, width);
  const top = 1.35 * Math.max(...span.map(variance)) || 1; // room for the draws above the exact
  const y = scale([0, top], [row.bottom, row.top]);
  const places = Array.from({ length: 61 }, (_, i) => span[0] + (i / 60) * (span[1] - span[0]));
  const curve = of => line(places.map(b => (of(b) <= top ? [x(b), y(of(b))] : null)));
  const mark = (kind, of, r) =>
    of(baseline) <= top ? [element("circle", { class: kind, cx: x(baseline), cy: y(of(baseline)), r })] : [];
  // Marks below the axis, so that they stay clear of the curves.
  const sign = (b, text) => [
    element("path", { class: "axis", d: `M${x(b)} ${y(variance(b))}V${row.bottom + 24}` }),
    below(x(b), row.bottom + 38, text, "symbol below"),
  ];
  return [
    title(row.top - 10, words.variance),
    ...levels(y, ticks(0, top, 3)),
    rule(y(0), "axis"),
    ...ticks(...span, Math.min(6, width / 60)).map(({ value, text }) => below(x(value), row.bottom + 18, text)),
    symbol(row.bottom + 18, "b"),
    ...sign(expected, "J"), ...sign(best, "b*"),
    element("path", { class: "fitted", d: curve(estimatedVariance) }),
    element("path", { class: "exact", d: curve(variance) }),
    ...mark("prediction", estimatedVariance, 7),
    ...mark("weighed", variance, 4),
  ];
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, baseline }, now) {
  return [
    named(words.soft, now.soft),
    named(words.sampled, now.sampled),
    named(words.variance_here, now.variance(baseline)),
    named(words.variance_drawn, now.estimatedVariance(baseline)),
  ];
}

function tables({ words, values, rewards, n, baseline }, now) {
  const baselines = [[words.this, baseline], [words.none, 0], [words.expected, now.expected], [words.least, now.best]];
  return [
    table([words.quantity, words.number], [
      [words.n, counted(n, "n")],
      [words.soft, exact(now.soft, "soft")],
      [words.sampled, exact(now.sampled, "sampled")],
    ]),
    table([words.baseline, "b", words.true_variance, words.estimated_variance], baselines.map(([text, b]) => [
      text,
      exact(b, "baseline"),
      exact(now.variance(b), "true_variance"),
      exact(now.estimatedVariance(b), "estimated_variance"),
    ])),
    columns(words, { value: values, reward: rewards, weight: now.weights, share: now.shares }),
    columns(words, { gradient: now.gradient, estimate: now.estimate }),
  ];
}

function draw(state, now, width) {
  const { words } = state;
  const signs = legend(["exact", words.exact], ["fitted", words.drawn], ["seen", words.one]);
  return { body: [signs, paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, span, uniform, n, baseline }, { expected, best }) {
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "n", word: words.n,
      min: 1, max: uniform.length, step: 1, value: n, text: `${n}`, set: value => ({ n: value }),
    },
    {
      kind: "slider", symbol: "b", word: words.baseline,
      min: span[0], max: span[1], step: 0.1, value: baseline, text: rounded(baseline, 2),
      set: value => ({ baseline: value }),
    },
    { kind: "buttons", word: words.set, options: [
      { symbol: "0", word: words.none, traits: { baseline: 0 } },
      { symbol: "J", word: words.expected, traits: { baseline: expected } },
      { symbol: "b*", word: words.least, traits: { baseline: best } },
    ] },
  ] }];
}

export default explorer({ compute, draw, controls });
