// Nadaraya–Watson regression under your hand: move w and the query, see curve and weights move.
import { addUp, choice, drag, exact, html, legend, line, named, reader, rounded, roundUp, scale, slider, stage, svg, table, ticks, toggle, writer } from "./kit.js";

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

const HEIGHT = 400;
const CURVE = { top: 28, bottom: 262 }; // above it the prediction, in a number
const WEIGHTS = { top: 296, bottom: 368 };
const MARGIN = { left: 40, right: 12 };

const across = (span, width) => scale(span, [MARGIN.left + 6, width - MARGIN.right - 6]);

function draw(picture, width, state, now) {
  const x = across(state.span, width);
  const y = scale(state.height, [CURVE.bottom, CURVE.top]);
  const largest = Math.max(...now.weights);
  const top = largest > 0 ? roundUp(largest) : 1;
  const h = scale([0, top], [WEIGHTS.bottom, WEIGHTS.top]);
  const { inputs, targets, grid, truth, words } = state;
  const point = (at, { total, prediction }) => (total > 0 ? [x(at), y(prediction)] : null);

  picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  picture.replaceChildren(
    band(x, state, width),
    ...axes(x, y, h, top, state, width),
    svg("path", { class: "truth", d: line(truth.map((value, i) => [x(grid[i]), y(value)])) }),
    svg("path", { class: "fitted", d: line(now.curve.map((fit, i) => point(grid[i], fit))) }),
    ...inputs.map((key, i) => svg("circle", { class: "seen", cx: x(key), cy: y(targets[i]), r: 3.5 })),
    ...inputs.map((key, i) => svg("circle", {
      class: "weighed", cx: x(key), cy: y(targets[i]), r: 3.5 + 2 * (now.weights[i] / (largest || 1)),
      opacity: now.weights[i] / (largest || 1),
    })),
    ...(state.leave_one_out ? now.fits.map((fit, n) => point(inputs[n], fit)).filter(Boolean) : [])
      .map(([px, py]) => svg("path", { class: "refit", d: `M${px - 3} ${py - 3}l6 6m0 -6l-6 6` })),
    svg("path", { class: "query", d: `M${x(state.query)} ${CURVE.top}V${WEIGHTS.bottom}` }),
    ...inputs.map((key, i) => svg("path", { class: "stem", d: `M${x(key)} ${WEIGHTS.bottom}V${h(now.weights[i])}` })),
    ...(now.total > 0 ? marker(x(state.query), y(now.prediction), now.prediction) : []),
    svg("text", { class: "word", x: MARGIN.left, y: WEIGHTS.top - 12 }, words.weights),
  );
}

// One bandwidth, 1/w, to each side of the query: what w means.
function band(x, { query, w, span }, width) {
  const [low, high] = w > 0 ? [query - 1 / w, query + 1 / w] : span;
  const start = Math.max(MARGIN.left, x(Math.max(low, span[0] - 1)));
  const end = Math.min(width - MARGIN.right, x(Math.min(high, span[1] + 1)));
  return svg("rect", {
    class: "band", x: start, y: CURVE.top, width: end - start, height: WEIGHTS.bottom - CURVE.top,
  });
}

function axes(x, y, h, top, { span, height }, width) {
  const right = width - MARGIN.right;
  const rule = (at, kind) => svg("path", { class: kind, d: `M${MARGIN.left} ${at}H${right}` });
  const beside = (at, text) => svg("text", { class: "tick beside", x: MARGIN.left - 7, y: at + 4 }, text);
  const below = ({ value, text }) =>
    svg("text", { class: "tick below", x: x(value), y: WEIGHTS.bottom + 18 }, text);
  return [
    ...ticks(...height, 5).flatMap(({ value, text }) => [rule(y(value), "grid"), beside(y(value), text)]),
    rule(h(top), "grid"),
    beside(h(top), String(+top.toPrecision(1))),
    rule(WEIGHTS.bottom, "axis"),
    beside(WEIGHTS.bottom, "0"),
    ...ticks(...span, Math.min(6, width / 60)).map(below),
  ];
}

function marker(x, y, prediction) {
  return [
    svg("circle", { class: "prediction", cx: x, cy: y, r: 7 }),
    svg("text", { class: "answer", x, y: CURVE.top - 10 }, rounded(prediction, 2)),
  ];
}

// --- the numbers behind it -----------------------------------------------------------------------

function numbers(state, now) {
  const { words, inputs, targets } = state;
  const order = [...inputs.keys()].sort((a, b) => now.weights[b] - now.weights[a] || a - b);
  return [
    table([words.quantity, words.number], [
      [words.query, exact(state.query, "query")],
      [words.w, exact(state.w, "w")],
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

// --- all together --------------------------------------------------------------------------------

const MOVING = ["w", "query", "kernel", "leave_one_out"];
const FIXED = ["inputs", "targets", "span", "height", "grid", "truth", "words"];

function render({ model, el }) {
  const read = reader(model, [...FIXED, ...MOVING]);
  const write = writer(model);
  const { words, w, span, truth } = read();
  const kernels = Object.keys(KERNELS).map(name => [name, words[name]]);
  const widest = Math.max(20, w);

  // With leave-one-out the query goes from point to point: only a point can leave itself out.
  const places = () => [...new Set(model.get("inputs"))].sort((a, b) => a - b);
  const nearest = query => places().reduce((best, x) => (Math.abs(x - query) < Math.abs(best - query) ? x : best));
  const goTo = query => {
    const inside = Math.min(span[1], Math.max(span[0], query));
    write("query", model.get("leave_one_out") ? nearest(inside) : inside);
  };

  const controls = {
    w: slider({ symbol: "w", word: words.w, onInput: value => write("w", value) }),
    query: slider({
      symbol: "x", word: words.query,
      onInput: value => write("query", model.get("leave_one_out") ? places()[value] : value),
    }),
    kernel: choice({ word: words.kernel, options: kernels, onInput: value => write("kernel", value) }),
    leave: toggle({
      word: words.leave_one_out,
      onInput(value) {
        write("leave_one_out", value);
        goTo(model.get("query"));
      },
    }),
  };

  const picture = svg("svg", { class: "picture", role: "img", "aria-label": words.picture, height: HEIGHT });
  const kinds = ["seen", ...(truth.length ? ["truth"] : []), "fitted", "refit"];
  const key = legend(kinds.map(kind => [kind, words[kind]]));
  const refit = key.entries.at(-1);
  const report = html("output", { class: "report" });
  const behind = html("div", { class: "tables" });

  let drawnWidth = 640;
  function show(width) {
    drawnWidth = width;
    const state = read();
    const now = compute(state);
    draw(picture, width, state, now);
    const atPoint = places().indexOf(nearest(state.query));
    const step = (span[1] - span[0]) / 500;
    controls.w.show({ min: 0, max: widest, step: 0.1, value: state.w, text: state.w.toFixed(1) });
    controls.query.show({
      ...(state.leave_one_out
        ? { min: 0, max: places().length - 1, step: 1, value: atPoint }
        : { min: span[0], max: span[1], step, value: state.query }),
      text: state.query.toFixed(2),
    });
    controls.kernel.show(state.kernel);
    controls.leave.show(state.leave_one_out);
    refit.hidden = !state.leave_one_out;
    report.replaceChildren(...(now.total > 0
      ? [named(words.prediction, now.prediction), named(words.loss, now.loss)]
      : [words.nothing]));
    behind.replaceChildren(...numbers(state, now));
  }

  // The query also follows a finger or mouse in the picture; the slider serves the keyboard.
  drag(picture, pixel => goTo(Number(across(span, drawnWidth).invert(pixel).toFixed(2))));

  return stage({
    model, el, moving: MOVING, picture, report, behind, show,
    parts: [
      key.element,
      picture,
      html("div", { class: "controls" }, ...Object.values(controls).map(control => control.element)),
    ],
  });
}

export default { render };
