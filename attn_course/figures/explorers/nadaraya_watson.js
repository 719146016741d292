// Nadaraya–Watson regression under your hand: move w and the query, see curve and weights move.
import { addUp, chart, clamp, element, exact, legend, line, MARGIN, named, NARROW, picture, rounded, roundUp, said, scale, table, ticks } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/nadaraya_watson/regression.py -----------------------------

// How much a key counts at distance u, in bandwidths. The Gaussian is measured from the nearest key:
// far from all of them every height would underflow to 0, and their ratios be lost.
const KERNELS = {
  gaussian: (u, nearest) => Math.exp(-0.5 * (u * u - nearest * nearest)),
  boxcar: u => (Math.abs(u) <= 1 ? 1 : 0),
  triangular: u => Math.max(0, 1 - Math.abs(u)),
  epanechnikov: u => Math.max(0, 1 - u * u),
};

// Weights, their sum (0 where no key is in reach, else 1) and the prediction for one query.
// `left` is the place of the key to leave out.
function attend(query, { inputs, targets, w, kernel }, left = -1) {
  const u = inputs.map(key => w * (query - key));
  const nearest = Math.min(...u.map((distance, i) => (i === left ? Infinity : Math.abs(distance))));
  const heights = u.map((distance, i) => (i === left ? 0 : KERNELS[kernel](distance, nearest)));
  const whole = addUp(heights);
  const weights = heights.map(height => (whole > 0 ? height / whole : 0));
  return { weights, total: addUp(weights), prediction: addUp(weights.map((a, i) => a * targets[i])) };
}

function compute(state) {
  const { inputs, targets, grid, query, leave_one_out } = state;
  const fits = inputs.map((x, n) => attend(x, state, leave_one_out ? n : -1));
  return {
    ...attend(query, state, leave_one_out ? inputs.indexOf(query) : -1),
    curve: grid.map(x => attend(x, state)),
    fits,
    loss: 0.5 * addUp(fits.map(({ prediction }, n) => (prediction - targets[n]) ** 2)),
  };
}

// --- the picture ---------------------------------------------------------------------------------

// Above the curve is the prediction, as a number.
function layout(width) {
  return width < NARROW
    ? { height: 272, curve: { top: 26, bottom: 172 }, weights: { top: 200, bottom: 248 } }
    : { height: 400, curve: { top: 28, bottom: 262 }, weights: { top: 296, bottom: 368 } };
}

const across = (span, width) => scale(span, [MARGIN.left + 6, width - MARGIN.right - 6]);

function paint(state, now, width) {
  const { inputs, targets, grid, truth, words } = state;
  const rows = layout(width);
  const x = across(state.span, width);
  const y = scale(state.height, [rows.curve.bottom, rows.curve.top]);
  const largest = Math.max(...now.weights);
  const top = largest > 0 ? roundUp(largest) : 1;
  const h = scale([0, top], [rows.weights.bottom, rows.weights.top]);
  const point = (at, { total, prediction }) => (total > 0 ? [x(at), y(prediction)] : null);
  const dot = (kind, i, r, more = {}) => element("circle", { class: kind, cx: x(inputs[i]), cy: y(targets[i]), r, ...more });
  const part = i => now.weights[i] / (largest || 1);

  return picture(state, "", width, rows.height,
    band(x, state, width),
    ...axes(x, y, h, top, state, width),
    element("path", { class: "truth", d: line(truth.map((value, i) => [x(grid[i]), y(value)])) }),
    element("path", { class: "fitted", d: line(now.curve.map((fit, i) => point(grid[i], fit))) }),
    ...inputs.map((_, i) => dot("seen", i, 3.5)),
    ...inputs.map((_, i) => dot("weighed", i, 3.5 + 2 * part(i), { opacity: part(i) })),
    ...(state.leave_one_out ? now.fits.map((fit, n) => point(inputs[n], fit)).filter(Boolean) : [])
      .map(([px, py]) => element("path", { class: "refit", d: `M${px - 3} ${py - 3}l6 6m0 -6l-6 6` })),
    element("path", { class: "query", d: `M${x(state.query)} ${rows.curve.top}V${rows.weights.bottom}` }),
    ...inputs.map((key, i) => element("path", { class: "stem", d: `M${x(key)} ${rows.weights.bottom}V${h(now.weights[i])}` })),
    ...(now.total > 0 ? [
      element("circle", { class: "prediction", cx: x(state.query), cy: y(now.prediction), r: 7 }),
      element("text", { class: "answer", x: x(state.query), y: rows.curve.top - 10 }, rounded(now.prediction, 2)),
    ] : []),
    chart(width).title(rows.weights.top - 10, words.weights),
  );
}

// One bandwidth, 1/w, to each side of the query: what w means.
function band(x, { query, w, span }, width) {
  const { curve, weights } = layout(width);
  const [low, high] = w > 0 ? [query - 1 / w, query + 1 / w] : span;
  const start = Math.max(MARGIN.left, x(Math.max(low, span[0] - 1)));
  const end = Math.min(width - MARGIN.right, x(Math.min(high, span[1] + 1)));
  return element("rect", {
    class: "band", x: start, y: curve.top, width: end - start, height: weights.bottom - curve.top,
  });
}

function axes(x, y, h, top, { span, height }, width) {
  const { rule, beside, below, levels } = chart(width);
  const { bottom } = layout(width).weights;
  return [
    ...levels(y, ticks(...height, 5)),
    ...levels(h, [{ value: top, text: String(+top.toPrecision(1)) }]),
    rule(bottom, "axis"),
    beside(bottom, "0"),
    ...ticks(...span, Math.min(6, width / 60)).map(({ value, text }) => below(x(value), bottom + 18, text)),
  ];
}

// --- the numbers behind it -----------------------------------------------------------------------

function tables({ words, inputs, targets, query, w }, now) {
  const order = [...inputs.keys()].sort((a, b) => now.weights[b] - now.weights[a] || a - b);
  return [
    table([words.quantity, words.number], [
      [words.query, exact(query, "query")],
      [words.w, exact(w, "w")],
      [words.prediction, exact(now.prediction, "prediction")],
      [words.total, exact(now.total, "total")],
      [words.loss, exact(now.loss, "loss")],
    ]),
    table([words.rank, words.key, words.value, words.weight], order.slice(0, 5).map((i, place) => [
      `${place + 1}`,
      exact(inputs[i], "key"),
      exact(targets[i], "value"),
      exact(now.weights[i], "weight"),
    ])),
  ];
}

function draw(state, now, width) {
  const { words, truth, leave_one_out } = state;
  const kinds = ["seen", ...(truth.length ? ["truth"] : []), "fitted", ...(leave_one_out ? ["refit"] : [])];
  return {
    body: [legend(...kinds.map(kind => [kind, words[kind]])), paint(state, now, width)],
    report: now.total > 0
      ? [named(words.prediction, now.prediction), named(words.loss, now.loss)]
      : [said(words.nothing)],
    tables: tables(state, now),
  };
}

// --- controls ------------------------------------------------------------------------------------

// With leave-one-out the query goes from point to point: only a point can leave itself out.
const places = ({ inputs }) => [...new Set(inputs)].sort((a, b) => a - b);
const nearest = (state, query) =>
  places(state).reduce((best, x) => (Math.abs(x - query) < Math.abs(best - query) ? x : best));

function querySlider(state) {
  const { words, span, query, leave_one_out } = state;
  const points = places(state);
  return {
    kind: "slider", symbol: "x", word: words.query, text: query.toFixed(2),
    ...(leave_one_out
      ? { min: 0, max: points.length - 1, step: 1, value: points.indexOf(nearest(state, query)) }
      : { min: span[0], max: span[1], step: (span[1] - span[0]) / 500, value: query }),
    set: value => ({ query: leave_one_out ? points[value] : value }),
  };
}

function controls(state) {
  const { words, w, w_most, kernel, query, leave_one_out } = state;
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "w", word: words.w,
      min: 0, max: w_most, step: 0.1, value: w, text: w.toFixed(1), set: value => ({ w: value }),
    },
    querySlider(state),
    {
      kind: "choice", word: words.kernel, options: Object.keys(KERNELS).map(name => [name, words[name]]),
      value: kernel, set: value => ({ kernel: value }),
    },
    {
      kind: "toggle", word: words.leave_one_out, value: leave_one_out,
      set: value => ({ leave_one_out: value, query: value ? nearest(state, query) : query }),
    },
  ] }];
}

// The query also follows a finger or mouse in the picture; the slider serves the keyboard.
function pull(state, width, pixel) {
  const query = clamp(Number(across(state.span, width).invert(pixel).toFixed(2)), state.span);
  return { query: state.leave_one_out ? nearest(state, query) : query };
}

export default explorer({ compute, draw, controls, pull });
