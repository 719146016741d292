// Local alignment under your hand: move the window over the keys and see what the Gaussian takes.
import { addUp, bar, chart, clamp, columns, counted, element, exact, legend, line, MARGIN, named, NARROW, picture, rounded, roundUp, said, scale, short, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

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

function layout(width) {
  return width < NARROW
    ? {
      height: 292, scores: { top: 24, bottom: 58 }, gaussian: { top: 84, bottom: 130 },
      weights: { top: 156, bottom: 222 }, sum: { top: 272, bottom: 284 },
    }
    : {
      height: 436, scores: { top: 26, bottom: 88 }, gaussian: { top: 124, bottom: 196 },
      weights: { top: 232, bottom: 344 }, sum: { top: 406, bottom: 420 },
    };
}

const places = (span, width) => scale(span, [MARGIN.left, width - MARGIN.right]);

function paint(state, now, width) {
  const { words, span, position, half_width, slip } = state;
  const rows = layout(width);
  const { right, title } = chart(width);
  const x = places(span, width);
  const high = Math.max(...now.window, ...now.weights, ...(slip ? now.slipped : []));
  const top = high > 0 ? roundUp(high) : 1;
  const reach = [Math.min(0, ...now.scores), Math.max(0, ...now.scores)];
  const up = (domain, row) => scale(domain, [row.bottom, row.top]);
  const e = up(reach[0] < reach[1] ? reach : [-1, 1], rows.scores);
  const g = up([0, 1], rows.gaussian);
  const a = up([0, top], rows.weights);
  const s = scale([0, 1], [MARGIN.left, right]);
  const thick = Math.min(26, 0.62 * (x(1) - x(0)));
  const upright = (kind, l, from, to) => bar(kind, x(l + 1), from, to, thick);
  const lying = (kind, part) => element("rect", {
    class: kind, x: s(0), y: rows.sum.top, width: s(part) - s(0), height: rows.sum.bottom - rows.sum.top,
  });
  const dash = l => element("path", {
    class: "second", d: `M${x(l + 1) - thick / 2 - 2} ${a(now.slipped[l])}h${thick + 4}`,
  });

  return picture(state, "", width, rows.height,
    ...voids(x, rows, state, now.scores.length),
    ...plate("band", x, rows, position - half_width, position + half_width, span),
    ...axes(x, e, g, a, top, state, now, width),
    ...now.scores.map((score, l) => upright(now.inside[l] ? "bar score" : "bar score away", l, e(0), e(score))),
    ...bell(x, g, state, now),
    element("path", { class: "query", d: `M${x(position)} ${rows.scores.top}V${rows.weights.bottom}` }),
    ...now.weights.flatMap((weight, l) => [
      upright("bar weight", l, a(0), a(weight)),
      upright("hollow", l, a(0), a(now.window[l])),
      ...(slip && now.inside[l] ? [dash(l)] : []),
    ]),
    title(rows.sum.top - 10, words.total),
    element("text", { class: "word end", x: right, y: rows.sum.top - 10 }, short(now.total)),
    lying("bar weight", now.total),
    lying("hollow", 1),
    ...(slip ? [element("path", { class: "second", d: `M${s(now.slip_total)} ${rows.sum.top - 3}V${rows.sum.bottom + 3}` })] : []),
  );
}

// A plate over all three rows, as far as the picture goes.
function plate(kind, x, { scores, weights }, low, high, [least, most]) {
  const [start, end] = [x(Math.max(low, least)), x(Math.min(high, most))];
  if (end <= start) return [];
  return [element("rect", {
    class: kind, x: start, y: scores.top - 6, width: end - start, height: weights.bottom - scores.top + 6,
  })];
}

// Where the window may go and no key is.
function voids(x, rows, { span }, keys) {
  return [...plate("void", x, rows, span[0], 0.5, span), ...plate("void", x, rows, keys + 0.5, span[1], span)];
}

// The Gaussian: a line in the window, dashes where the window cuts it off.
function bell(x, g, { span, position, half_width }, { gaussian, factors, inside }) {
  const steps = Array.from({ length: 241 }, (_, i) => span[0] + (i / 240) * (span[1] - span[0]));
  const part = keep => line([...steps, position - half_width, position + half_width]
    .filter(at => at >= span[0] && at <= span[1])
    .sort((one, other) => one - other)
    .map(at => (keep(Math.abs(at - position)) ? [x(at), g(gaussian(at - position))] : null)));
  return [
    element("path", { class: "truth", d: part(away => away >= half_width - 1e-9) }),
    element("path", { class: "bell", d: part(away => away <= half_width + 1e-9) }),
    ...factors.flatMap((factor, l) =>
      inside[l] ? [element("circle", { class: "factor", cx: x(l + 1), cy: g(factor), r: 4 })] : []),
  ];
}

function axes(x, e, g, a, top, { words }, { scores }, width) {
  const rows = layout(width);
  const { rule, beside, title, below, levels } = chart(width);
  const every = [1, 2, 5].find(step => step * (x(1) - x(0)) >= 20) ?? 10; // room for two digits
  const zero = place => [rule(place(0), "axis"), beside(place(0), "0")];
  return [
    title(rows.scores.top - 10, words.scores), ...zero(e),
    title(rows.gaussian.top - 10, words.gaussian), ...levels(g, [{ value: 1, text: "1" }]), ...zero(g),
    title(rows.weights.top - 10, words.weights), ...levels(a, [{ value: top, text: String(+top.toPrecision(1)) }]), ...zero(a),
    ...scores.flatMap((_, l) => ((l + 1) % every ? [] : [below(x(l + 1), rows.weights.bottom + 18, `${l + 1}`)])),
    element("text", { class: "tick beside", x: MARGIN.left - 7, y: rows.weights.bottom + 18 }, words.key),
  ];
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, slip }, now) {
  if (now.count === 0) return [said(words.nothing)];
  return [
    named(words.total, now.total),
    ...(slip ? [named(words.slip_total, now.slip_total)] : []),
    named(words.edge, now.edge),
  ];
}

function tables({ words, position, half_width, slip }, now) {
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

function draw(state, now, width) {
  const { words, slip } = state;
  const signs = legend(
    ["hollow", words.window], ["bar weight", words.weighed], ...(slip ? [["second", words.slipped]] : []), ["void", words.void],
  );
  return { body: [signs, paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, rows, span, row, position, half_width, spread, renormalise, slip }, { scores }) {
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "p", word: words.position,
      min: span[0], max: span[1], step: 0.1, value: position, text: rounded(position, 1),
      set: value => ({ position: value }),
    },
    {
      kind: "slider", symbol: "D", word: words.half_width,
      min: 0.5, max: scores.length, step: 0.5, value: half_width, text: half_width.toFixed(1),
      set: value => ({ half_width: value }),
    },
    {
      kind: "slider", symbol: "σ", word: words.sigma,
      min: 0.1, max: 1.5, step: 0.05, value: spread, text: `${spread.toFixed(2)} D`,
      set: value => ({ spread: value }),
    },
    {
      kind: "choice", word: words.row, options: Object.keys(rows).map(name => [name, words[name]]),
      value: row, set: value => ({ row: value }),
    },
    { kind: "toggle", word: words.renormalise, value: renormalise, set: value => ({ renormalise: value }) },
    { kind: "toggle", word: words.slip, value: slip, set: value => ({ slip: value }) },
  ] }];
}

// The window follows a finger or mouse in the picture; the slider serves the keyboard.
function pull({ span }, width, pixel) {
  return { position: Number(clamp(places(span, width).invert(pixel), span).toFixed(1)) };
}

export default explorer({ compute, draw, controls, pull });
