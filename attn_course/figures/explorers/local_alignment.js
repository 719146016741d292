// Local alignment under your hand: move the window over the keys and see what the Gaussian takes.
import { addUp, choice, columns, counted, drag, exact, html, legend, line, named, reader, rounded, roundUp, scale, short, slider, softmax, stage, svg, table, toggle, writer } from "./kit.js";

// --- the arithmetic, as in attn_course/alignment/local.py ----------------------------------------

const SLIP = 1; // sigma = D, where the definition has D/2

function compute({ rows, row, position, half_width, spread, renormalise }) {
  const scores = rows[row];
  const offsets = scores.map((_, l) => l + 1 - position); // keys are counted from 1
  const inside = offsets.map(offset => Math.abs(offset) <= half_width);
  const window = softmax(scores, inside);
  const fade = (offset, ratio) => -(offset * offset) / (2 * (ratio * half_width) ** 2);
  // In front of the softmax the Gaussian is renormalised with the rest, behind it it is not.
  const weigh = ratio =>
    renormalise
      ? softmax(scores.map((score, l) => score + fade(offsets[l], ratio)), inside)
      : window.map((weight, l) => weight * Math.exp(fade(offsets[l], ratio)));
  const weights = weigh(spread);
  const slipped = weigh(SLIP);
  return {
    scores, inside, window, weights, slipped,
    gaussian: offset => Math.exp(fade(offset, spread)),
    factors: offsets.map((offset, l) => (inside[l] ? Math.exp(fade(offset, spread)) : 0)),
    sigma: spread * half_width,
    count: inside.filter(Boolean).length,
    edge: Math.exp(fade(half_width, spread)),
    total: addUp(weights),
    slip_total: addUp(slipped),
  };
}

// --- the picture ---------------------------------------------------------------------------------

const HEIGHT = 436;
const SCORES = { top: 26, bottom: 88 };
const GAUSSIAN = { top: 124, bottom: 196 };
const WEIGHTS = { top: 232, bottom: 344 };
const SUM = { top: 406, bottom: 420 };
const MARGIN = { left: 40, right: 12 };

const places = (span, width) => scale(span, [MARGIN.left, width - MARGIN.right]);

function draw(picture, width, state, now) {
  const { words, span, position, half_width, slip } = state;
  const x = places(span, width);
  const high = Math.max(...now.window, ...now.weights, ...(slip ? now.slipped : []));
  const top = high > 0 ? roundUp(high) : 1;
  const reach = [Math.min(0, ...now.scores), Math.max(0, ...now.scores)];
  const e = scale(reach[0] < reach[1] ? reach : [-1, 1], [SCORES.bottom, SCORES.top]);
  const g = scale([0, 1], [GAUSSIAN.bottom, GAUSSIAN.top]);
  const a = scale([0, top], [WEIGHTS.bottom, WEIGHTS.top]);
  const s = scale([0, 1], [MARGIN.left, width - MARGIN.right]);
  const thick = Math.min(26, 0.62 * (x(1) - x(0)));
  const bar = (kind, l, from, to) => svg("rect", {
    class: kind, x: x(l + 1) - thick / 2, y: Math.min(from, to), width: thick, height: Math.abs(from - to),
  });
  const dash = l => svg("path", {
    class: "slipped", d: `M${x(l + 1) - thick / 2 - 2} ${a(now.slipped[l])}h${thick + 4}`,
  });

  picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  picture.replaceChildren(
    ...voids(x, state, now.scores.length),
    ...plate("band", x, position - half_width, position + half_width, span),
    ...axes(x, e, g, a, top, state, now, width),
    ...now.scores.map((score, l) => bar(now.inside[l] ? "bar" : "bar away", l, e(0), e(score))),
    ...bell(x, g, state, now),
    svg("path", { class: "query", d: `M${x(position)} ${SCORES.top}V${WEIGHTS.bottom}` }),
    ...now.weights.flatMap((weight, l) => [
      bar("bar weight", l, a(0), a(weight)),
      bar("hollow", l, a(0), a(now.window[l])),
      ...(slip && now.inside[l] ? [dash(l)] : []),
    ]),
    svg("text", { class: "word", x: MARGIN.left, y: SUM.top - 10 }, words.total),
    svg("text", { class: "word end", x: width - MARGIN.right, y: SUM.top - 10 }, short(now.total)),
    svg("rect", { class: "bar weight", x: s(0), y: SUM.top, width: s(now.total) - s(0), height: SUM.bottom - SUM.top }),
    svg("rect", { class: "hollow", x: s(0), y: SUM.top, width: s(1) - s(0), height: SUM.bottom - SUM.top }),
    ...(slip ? [svg("path", { class: "slipped", d: `M${s(now.slip_total)} ${SUM.top - 3}V${SUM.bottom + 3}` })] : []),
  );
}

// A plate over all three rows, as far as the picture goes.
function plate(kind, x, low, high, [least, most]) {
  const [start, end] = [x(Math.max(low, least)), x(Math.min(high, most))];
  if (end <= start) return [];
  return [svg("rect", {
    class: kind, x: start, y: SCORES.top - 6, width: end - start, height: WEIGHTS.bottom - SCORES.top + 6,
  })];
}

// Where the window may go and no key is.
function voids(x, { span }, keys) {
  return [...plate("void", x, span[0], 0.5, span), ...plate("void", x, keys + 0.5, span[1], span)];
}

// The Gaussian: a line in the window, dashes where the window cuts it off.
function bell(x, g, { span, position, half_width }, { gaussian, factors, inside }) {
  const steps = Array.from({ length: 241 }, (_, i) => span[0] + (i / 240) * (span[1] - span[0]));
  const part = keep => line([...steps, position - half_width, position + half_width]
    .filter(at => at >= span[0] && at <= span[1])
    .sort((one, other) => one - other)
    .map(at => (keep(Math.abs(at - position)) ? [x(at), g(gaussian(at - position))] : null)));
  return [
    svg("path", { class: "truth", d: part(away => away >= half_width - 1e-9) }),
    svg("path", { class: "fitted", d: part(away => away <= half_width + 1e-9) }),
    ...factors.flatMap((factor, l) =>
      inside[l] ? [svg("circle", { class: "weighed", cx: x(l + 1), cy: g(factor), r: 4 })] : []),
  ];
}

function axes(x, e, g, a, top, { words }, { scores }, width) {
  const rule = (at, kind) => svg("path", { class: kind, d: `M${MARGIN.left} ${at}H${width - MARGIN.right}` });
  const beside = (at, text) => svg("text", { class: "tick beside", x: MARGIN.left - 7, y: at + 4 }, text);
  const title = (row, text) => svg("text", { class: "word", x: MARGIN.left, y: row.top - 10 }, text);
  const every = [1, 2, 5].find(step => step * (x(1) - x(0)) >= 20) ?? 10; // room for two digits
  return [
    title(SCORES, words.scores), rule(e(0), "axis"), beside(e(0), "0"),
    title(GAUSSIAN, words.gaussian), rule(g(1), "grid"), beside(g(1), "1"), rule(g(0), "axis"), beside(g(0), "0"),
    title(WEIGHTS, words.weights), rule(a(top), "grid"), beside(a(top), String(+top.toPrecision(1))),
    rule(a(0), "axis"), beside(a(0), "0"),
    ...scores.flatMap((_, l) => ((l + 1) % every ? [] : [
      svg("text", { class: "tick below", x: x(l + 1), y: WEIGHTS.bottom + 18 }, `${l + 1}`),
    ])),
    svg("text", { class: "tick beside", x: MARGIN.left - 7, y: WEIGHTS.bottom + 18 }, words.key),
  ];
}

// --- the numbers behind it -----------------------------------------------------------------------

function numbers({ words, position, half_width, slip }, now) {
  const quantities = { position, half_width, sigma: now.sigma, edge: now.edge, total: now.total };
  if (slip) quantities.slip_total = now.slip_total;
  return [
    table([words.quantity, words.number], [
      ...Object.entries(quantities).map(([name, number]) => [words[name], exact(number, name)]),
      [words.count, counted(now.count, "count")],
    ]),
    columns(words, { score: now.scores, softmax: now.window, factor: now.factors, weight: now.weights }),
    ...(slip ? [columns(words, { slip_weight: now.slipped })] : []), // apart: a phone has no room for it
  ];
}

// --- all together --------------------------------------------------------------------------------

const MOVING = ["row", "position", "half_width", "spread", "renormalise", "slip"];
const FIXED = ["rows", "span", "words"];

function render({ model, el }) {
  const read = reader(model, [...FIXED, ...MOVING]);
  const write = writer(model);
  const { words, rows, span } = read();
  const names = Object.keys(rows);
  const keys = rows[names[0]].length;

  const controls = {
    position: slider({ symbol: "p", word: words.position, onInput: value => write("position", value) }),
    half_width: slider({ symbol: "D", word: words.half_width, onInput: value => write("half_width", value) }),
    spread: slider({ symbol: "σ", word: words.sigma, onInput: value => write("spread", value) }),
    row: choice({ word: words.row, options: names.map(name => [name, words[name]]), onInput: value => write("row", value) }),
    renormalise: toggle({ word: words.renormalise, onInput: value => write("renormalise", value) }),
    slip: toggle({ word: words.slip, onInput: value => write("slip", value) }),
  };
  const key = legend([["hollow", words.window], ["bar weight", words.weighed], ["slipped", words.slipped], ["void", words.void]]);
  const picture = svg("svg", { class: "picture", role: "img", "aria-label": words.picture, height: HEIGHT });
  const report = html("output", { class: "report" });
  const behind = html("div", { class: "tables" });

  let room = 640;
  drag(picture, pixel => {
    const at = places(span, room).invert(pixel);
    write("position", Number(Math.min(span[1], Math.max(span[0], at)).toFixed(1)));
  });

  return stage({
    model, el, picture, report, behind,
    moving: MOVING,
    parts: [
      key.element,
      picture,
      html("div", { class: "controls" }, ...Object.values(controls).map(control => control.element)),
    ],
    show(width) {
      room = width;
      const state = read();
      const now = compute(state);
      draw(picture, width, state, now);
      const { position, half_width, spread, slip } = state;
      controls.position.show({ min: span[0], max: span[1], step: 0.1, value: position, text: rounded(position, 1) });
      controls.half_width.show({ min: 0.5, max: keys, step: 0.5, value: half_width, text: half_width.toFixed(1) });
      controls.spread.show({
        min: 0.1, max: 1.5, step: 0.05, value: spread, text: `${spread.toFixed(2)} D = ${now.sigma.toFixed(2)}`,
      });
      controls.row.show(state.row);
      controls.renormalise.show(state.renormalise);
      controls.slip.show(slip);
      key.entries[2].hidden = !slip;
      report.replaceChildren(...(now.count > 0
        ? [
          named(words.total, now.total),
          ...(slip ? [named(words.slip_total, now.slip_total)] : []),
          named(words.edge, now.edge),
        ]
        : [words.nothing]));
      behind.replaceChildren(...numbers(state, now));
    },
  });
}

export default { render };
