// Hard against soft alignment: draw keys one by one, and see what a baseline does to the gradient.
import { addUp, button, columns, counted, exact, html, legend, line, named, reader, rounded, roundUp, scale, slider, softmax, stage, svg, table, ticks, writer } from "./kit.js";

// --- the arithmetic, as in attn_course/alignment/hard.py -----------------------------------------

const dot = (one, other) => addUp(one.map((number, i) => number * other[i]));

// The first key at which the running sum of the weights passes the uniform number.
function draw(weights, uniform) {
  let sum = 0;
  const sums = weights.map(weight => (sum += weight));
  return uniform.map(u => sums.findIndex(reached => reached > u * sum));
}

function compute({ scores, values, rewards, uniform, n, baseline }) {
  const weights = softmax(scores);
  const chosen = draw(weights, uniform.slice(0, n));
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

const HEIGHT = 530;
const KEYS = { top: 26, bottom: 106 };
const CONTEXT = { top: 206, bottom: 316 };
const VARIANCE = { top: 378, bottom: 484 };
const MARGIN = { left: 40, right: 12 };

const across = (domain, width) => scale(domain, [MARGIN.left + 8, width - MARGIN.right - 8]);

function paint(picture, width, state, now) {
  const frame = { width, right: width - MARGIN.right };
  picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  picture.replaceChildren(...keys(frame, state, now), ...contexts(frame, state, now), ...variances(frame, state, now));
}

const rule = ({ right }, at, kind) => svg("path", { class: kind, d: `M${MARGIN.left} ${at}H${right}` });
const word = (row, text) => svg("text", { class: "word", x: MARGIN.left, y: row.top - 10 }, text);
const beside = (at, text) => svg("text", { class: "tick beside", x: MARGIN.left - 7, y: at + 4 }, text);
const below = (x, y, text) => svg("text", { class: "tick below", x, y }, text);
const levels = (frame, y, top, count) =>
  ticks(0, top, count).flatMap(({ value, text }) => [rule(frame, y(value), "grid"), beside(y(value), text)]);
const brief = number => rounded(number, 2).replace(/\.?0+$/, "");

function keys(frame, { words, values, rewards }, { weights, shares }) {
  const x = scale([0.5, weights.length + 0.5], [MARGIN.left, frame.right]);
  const top = roundUp(Math.max(...weights, ...shares));
  const y = scale([0, top], [KEYS.bottom, KEYS.top]);
  const thick = Math.min(56, 0.6 * (x(1) - x(0)));
  const rows = [["l", weights.map((_, l) => `${l + 1}`)], ["v", values.map(brief)], ["R", rewards.map(brief)]];
  return [
    word(KEYS, words.weights),
    ...levels(frame, y, top, 2),
    ...weights.map((weight, l) => svg("rect", {
      class: "bar weight", x: x(l + 1) - thick / 2, y: y(weight), width: thick, height: y(0) - y(weight),
    })),
    ...shares.map((share, l) => svg("path", { class: "slipped", d: `M${x(l + 1) - thick / 2 - 5} ${y(share)}h${thick + 10}` })),
    rule(frame, y(0), "axis"),
    ...rows.flatMap(([symbol, texts], i) => [
      svg("text", { class: "symbol beside", x: MARGIN.left - 7, y: KEYS.bottom + 20 + 17 * i }, symbol),
      ...texts.map((text, l) => below(x(l + 1), KEYS.bottom + 20 + 17 * i, text)),
    ]),
  ];
}

function contexts(frame, { words, values, uniform, n }, { chosen, running, soft }) {
  const last = Math.min(uniform.length, Math.max(20, roundUp(n)));
  const x = across([1, last], frame.width);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const reach = low < high ? [low, high] : [low - 1, high + 1];
  const y = scale(reach, [CONTEXT.bottom - 6, CONTEXT.top + 6]);
  return [
    word(CONTEXT, words.context),
    ...ticks(...reach, 5).flatMap(({ value, text }) => [
      rule(frame, y(value), "grid"), beside(y(value), text),
    ]),
    ...chosen.map((m, i) => svg("circle", { class: "seen", cx: x(i + 1), cy: y(values[m]), r: last > 60 ? 1.5 : 2.5 })),
    svg("path", { class: "exact", d: `M${MARGIN.left} ${y(soft)}H${frame.right}` }),
    svg("path", { class: "fitted", d: line(running.map((mean, i) => [x(i + 1), y(mean)])) }),
    svg("circle", { class: "prediction", cx: x(n), cy: y(running[n - 1]), r: 6 }),
    rule(frame, CONTEXT.bottom, "axis"),
    ...ticks(0, last, Math.min(6, frame.width / 60)).filter(({ value }) => value > 0)
      .map(({ value, text }) => below(x(value), CONTEXT.bottom + 18, text)),
    svg("text", { class: "symbol beside", x: MARGIN.left - 7, y: CONTEXT.bottom + 18 }, "n"),
  ];
}

function variances(frame, { words, span, baseline }, { variance, estimatedVariance, expected, best }) {
  const x = across(span, frame.width);
  const top = 1.35 * Math.max(...span.map(variance)) || 1; // room for the draws above the exact
  const y = scale([0, top], [VARIANCE.bottom, VARIANCE.top]);
  const places = Array.from({ length: 61 }, (_, i) => span[0] + (i / 60) * (span[1] - span[0]));
  const curve = of => line(places.map(b => (of(b) <= top ? [x(b), y(of(b))] : null)));
  const mark = (kind, of, r) =>
    of(baseline) <= top ? [svg("circle", { class: kind, cx: x(baseline), cy: y(of(baseline)), r })] : [];
  // Marks below the axis, so that they stay clear of the curves.
  const sign = (b, text) => [
    svg("path", { class: "query", d: `M${x(b)} ${y(variance(b))}V${VARIANCE.bottom + 24}` }),
    svg("text", { class: "symbol below", x: x(b), y: VARIANCE.bottom + 38 }, text),
  ];
  return [
    word(VARIANCE, words.variance),
    ...levels(frame, y, top, 3),
    rule(frame, y(0), "axis"),
    ...ticks(...span, Math.min(6, frame.width / 60)).map(({ value, text }) => below(x(value), VARIANCE.bottom + 18, text)),
    svg("text", { class: "symbol beside", x: MARGIN.left - 7, y: VARIANCE.bottom + 18 }, "b"),
    ...sign(expected, "J"), ...sign(best, "b*"),
    svg("path", { class: "fitted", d: curve(estimatedVariance) }),
    svg("path", { class: "exact", d: curve(variance) }),
    ...mark("prediction", estimatedVariance, 7),
    ...mark("weighed", variance, 4),
  ];
}

// --- the numbers behind it -----------------------------------------------------------------------

function numbers({ words, values, rewards, n, baseline }, now) {
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

// --- all together --------------------------------------------------------------------------------

const MOVING = ["n", "baseline"];
const FIXED = ["scores", "values", "rewards", "uniform", "span", "words"];

function render({ model, el }) {
  const read = reader(model, [...FIXED, ...MOVING]);
  const write = writer(model);
  const { words, span, uniform } = read();

  const controls = {
    n: slider({ symbol: "n", word: words.n, onInput: value => write("n", value) }),
    baseline: slider({ symbol: "b", word: words.baseline, onInput: value => write("baseline", value) }),
  };
  const known = [
    ["0", words.none, () => 0],
    ["J", words.expected, ({ expected }) => expected],
    ["b*", words.least, ({ best }) => best],
  ];
  const buttons = html("div", { class: "buttons", role: "group", "aria-label": words.set },
    html("span", { "aria-hidden": "true" }, words.set),
    ...known.map(([symbol, word, of]) =>
      button({ symbol, word, onPress: () => write("baseline", of(compute(read()))) })),
  );
  const key = legend([["exact", words.exact], ["fitted", words.drawn], ["seen", words.one]]);
  const picture = svg("svg", { class: "picture steady", role: "img", "aria-label": words.picture, height: HEIGHT });
  const report = html("output", { class: "report" });
  const behind = html("div", { class: "tables" });

  return stage({
    model, el, picture, report, behind,
    moving: MOVING,
    parts: [
      key.element,
      picture,
      html("div", { class: "controls" }, controls.n.element, controls.baseline.element, buttons),
    ],
    show(width) {
      const state = read();
      const now = compute(state);
      const { n, baseline } = state;
      paint(picture, width, state, now);
      controls.n.show({ min: 1, max: uniform.length, step: 1, value: n, text: `${n}` });
      controls.baseline.show({ min: span[0], max: span[1], step: 0.1, value: baseline, text: rounded(baseline, 2) });
      report.replaceChildren(
        named(words.soft, now.soft),
        named(words.sampled, now.sampled),
        named(words.variance_here, now.variance(baseline)),
        named(words.variance_drawn, now.estimatedVariance(baseline)),
      );
      behind.replaceChildren(...numbers(state, now));
    },
  });
}

export default { render };
