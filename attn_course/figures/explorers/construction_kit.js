// The construction kit: a choice on each axis, and what comes of it: formula, shapes, cost, name.
import { addUp, element, NARROW, picture, said, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- may these choices be combined? As attn_course/general_attention/combinations.py says ---------

const AXES = ["score", "align", "dimension", "query"];
const COUNTS = ["heads", "hops", "capsules"];

function multiplicityOf({ heads, hops, capsules }) {
  if (capsules) return "capsules";
  if (heads > 1) return hops > 1 ? "heads and hops" : "heads";
  return hops > 1 ? "hops" : "singular";
}

// The rule that refuses the choices: Python has noted it for each combination, in this order.
function ruleAgainst(state) {
  const places = [
    ...AXES.map(axis => [state.axes[axis].findIndex(([name]) => name === state[axis]), state.axes[axis].length]),
    ...[state.heads > 1, state.hops > 1, state.capsules > 0].map(several => [Number(several), 2]),
  ];
  const letter = state.refused[places.reduce((index, [place, length]) => index * length + place, 0)];
  return letter === "." ? null : state.rules[letter.charCodeAt(0) - "a".charCodeAt(0)];
}

// The names in braces of a sentence become what they stand for, with `!r` in quotes.
const filled = (sentence, values) => sentence.replace(/\{(\w+)(!r)?\}/g, (_, name, quoted) => (quoted ? `'${values[name]}'` : values[name]));

// Why there is no such layer, and which choices clash; null where there is one.
function refusalOf(state) {
  const rule = ruleAgainst(state);
  if (rule) {
    const what = rule.split(" makes no sense")[0];
    return { why: filled(rule, { ...state, multiplicity: multiplicityOf(state) }), clash: what.match(/[a-z]+/g) };
  }
  if (state.heads > 1 && state.d % state.heads) return { why: filled(state.words.uneven, state), clash: ["heads"] };
  return null;
}

// --- what it costs, as attn_course/general_attention/costs.py and its layers say -------------------

const ENTRY_BY_ENTRY = ["dot", "scaled_dot", "cosine", "euclidean", "squared_euclidean"];

function scoreFlops(kind, d_q, d_k, d_w, q, n) {
  if (kind === "additive") return 2 * d_w * d_q * q + 2 * d_w * d_k * n + (d_q ? 3 : 2) * d_w * n * q;
  if (kind === "cosine") return 2 * d_k * n * q + 2 * d_k * n;
  if (kind.endsWith("euclidean")) return 3 * d_k * n * q;
  if (ENTRY_BY_ENTRY.includes(kind)) return 2 * d_k * n * q;
  return 2 * d_k * d_q * q + 2 * d_k * n * q;
}

// What a score has to learn: a name and the sizes of its axes.
function scoreParameters(kind, d_q, d_k, d_w) {
  if (kind === "additive") return [["w", d_w], ["W_q", d_w, d_q], ["W_k", d_w, d_k], ["b", d_w]];
  if (ENTRY_BY_ENTRY.includes(kind)) return [];
  const bias = { general: [], biased_general: [["b", d_k]], activated_general: [["b"]] };
  return [["W", d_k, d_q], ...bias[kind]];
}

// Each of these returns lists of parts: parameters `[name, ...sizes]` with how often there are such,
// FLOPs and numbers kept, each with the word for them.
function singular({ score, align, dimension, query, capsules, n, d }, q) {
  const isMulti = dimension === "multi";
  const d_q = query === "removed" ? 0 : d;
  const featureScore = [["W_d", d, d], ["W_q", d, d_q], ["W_k", d, d], ["b", d]];
  const all = isMulti ? featureScore : scoreParameters(score, d_q, d, d);
  const ofScore = all.filter(([name]) => d_q || name !== "W_q");
  const ofAlign = {
    local_predictive: [["w_p", d], ["W_p", d, d]],
    reinforced: [["W", d, 3 * d], ["b", d], ["w", d], ["b_0"]],
  };
  const scores = isMulti
    ? 2 * d * d_q * q + 2 * d * d * n + ((d_q ? d : 0) + 2 * d * d) * n * q
    : scoreFlops(score, d_q, d, d, q, n);
  const alignFlops = { local_predictive: ["window", 2 * d * d_q * q + 2 * d * q], reinforced: ["selector", 2 * d * 3 * d * n + 2 * d * n] };
  return {
    parameters: [
      ...(query === "learned" ? [["q", capsules || 1, d]] : []),
      ...(query === "self" ? [["W_Q", d, d]] : []),
      ...ofScore,
      ...(ofAlign[align] ?? []),
    ].map(parameter => [1, ...parameter]),
    flops: [
      ...(query === "self" ? [["projections", 2 * d * d * n]] : []),
      ["scores", scores],
      ...(alignFlops[align] ? [alignFlops[align]] : []),
      ["contexts", 2 * d * n * q],
    ],
    memory: [
      ["kept_features", d * n], // the features themselves are keys and values
      ["kept_weights", q * n * (isMulti ? d : 1)],
      ...(score === "additive" ? [["kept_hidden", q * n * d]] : []),
    ],
  };
}

function multiHead({ score, query, heads, hops, n, d }, q) {
  const size = d / heads;
  const maps = ["W_q", "W_K", "W_V", "W_O"].map(name => [hops, name, d, d]);
  return {
    parameters: [
      ...(query === "learned" ? [[1, "q", 1, d]] : []),
      ...maps,
      ...scoreParameters(score, size, size, size).map(parameter => [heads * hops, ...parameter]),
      ...(hops > 1 ? [[2 * hops, "norm", d]] : []),
    ],
    flops: [
      ["projections", hops * 2 * d * d * (q + 2 * n)],
      ["scores", hops * heads * scoreFlops(score, size, size, size, q, n)],
      ["contexts", hops * 2 * d * n * q],
      ["output", hops * 2 * d * d * q],
    ],
    memory: [
      ["kept_features", hops * 2 * d * n],
      ["kept_weights", hops * heads * q * n],
      ...(score === "additive" ? [["kept_hidden", hops * q * n * d]] : []),
    ],
  };
}

// The query is made of m vectors, and asks together with the context: it is as wide as both.
function multiHop({ score, hops, n, d }, m) {
  const attended = count => scoreFlops(score, 2 * d, d, d, 1, count) + 2 * d * count;
  return {
    parameters: scoreParameters(score, 2 * d, d, d).map(parameter => [2, ...parameter]),
    flops: [["new_query", hops * attended(m)], ["scores", hops * (attended(n) - 2 * d * n)], ["contexts", hops * 2 * d * n]],
    memory: [
      ["kept_features", d * (n + m)],
      ["kept_weights", hops * (n + m)],
      ...(score === "additive" ? [["kept_hidden", hops * d * (n + m)]] : []),
    ],
  };
}

// --- shapes ----------------------------------------------------------------------------------------

// Of what the arrows pass on: rows by width, as in code, and heads first where there are some.
function shapesOf(state, q) {
  const { dimension, heads, n, d } = state;
  const perHead = heads > 1 ? [heads] : [];
  const rows = multiplicityOf(state) === "hops" ? 1 : q;
  const pairs = [...perHead, rows, n, ...(dimension === "multi" ? [d] : [])];
  const asks = multiplicityOf(state) === "hops" ? 2 * d : d / heads;
  return {
    source: [q, d], F: [n, d],
    Q: [...perHead, rows, asks], K: [...perHead, n, d / heads], V: [...perHead, n, d / heads],
    e: pairs, a: pairs, c: [...perHead, rows, d / heads], out: [rows, d],
  };
}

function compute(state) {
  const { query, capsules, n, score, align, dimension } = state;
  if (!COUNTS.every(name => state.steps[name].includes(state[name]))) throw new Error("a link may say anything");
  const refusal = refusalOf(state);
  if (refusal) return { refusal };
  const multiplicity = multiplicityOf(state);
  const q = { self: n, removed: 1, learned: capsules || 1 }[query] ?? state.q;
  const cost = { heads: multiHead, "heads and hops": multiHead, hops: multiHop }[multiplicity] ?? singular;
  const choices = { score, align, dimension, query, multiplicity };
  const made = state.published.filter(model => Object.entries(choices).every(([axis, choice]) => model[axis].includes(choice)));
  return { refusal, ...cost(state, q), shapes: shapesOf(state, q), names: made.map(({ name }) => name) };
}

const product = sizes => sizes.reduce((whole, size) => whole * size, 1);
const totals = ({ parameters, flops, memory }) => ({
  parameters: addUp(parameters.map(([copies, , ...sizes]) => copies * product(sizes))),
  flops: addUp(flops.map(([, number]) => number)),
  memory: addUp(memory.map(([, number]) => number)),
});

// --- formulas --------------------------------------------------------------------------------------

const classes = (...names) => names.filter(Boolean).join(" ");
const COLOURS = { q: "query", Q: "query", k: "key", K: "key", v: "key", V: "key", F: "key", a: "weight" };
const PART = /([_^])(?:\{([^}]*)\}|(.))|([A-Za-zπσ]+)|[^_^A-Za-zπσ]+/g;
const SHIFT = { _: 3.5, "^": -4.5 };

// A formula as pieces of one line of text: letters in italics, words upright, indices small.
function pieces(formula) {
  let height = 0;
  return [...formula.matchAll(PART)].map(([all, sign, several, one, letters]) => {
    const wanted = SHIFT[sign] ?? 0;
    const kind = sign ? "index" : letters?.length === 1 ? classes("letter", COLOURS[letters]) : "upright";
    const move = wanted === height ? {} : { dy: wanted - height };
    height = wanted;
    return element("tspan", { class: kind, ...move }, several ?? one ?? all);
  });
}

// A line of text: a word, in which letters are just letters, and a formula.
function maths(kind, x, y, room, formula, word = "") {
  return element("text", { class: classes("maths", kind), x, y, "data-room": room },
    ...(word ? [element("tspan", { class: "upright" }, word)] : []), ...pieces(formula));
}

function scoreFormula({ formulas, score, dimension, query }, asks) {
  const kinds = [dimension === "multi" ? "multi" : "", query === "removed" ? "removed" : ""].filter(Boolean);
  // Only the additive score has these forms; others keep their own, and the report says why not.
  const formula = formulas.score[(score === "additive" && kinds.join(" ")) || score];
  return `e_l = ${filled(formula, { q: asks })}`;
}

// --- the picture -----------------------------------------------------------------------------------

const BOX = 26; // how high
const ENTRY = 50; // from the sources to the score: two lines of text next to an arrow
const TAIL = 22;
const SHEETS = 4; // more heads than that look the same
const shown = shape => (shape ? shape.join(" × ") : "");

// Where everything is. Across: three arrows from the sources, with room for their labels, and the
// boxes, which leave a lane to the values. Down: the boxes, in equal steps whatever their number.
function layout({ heads }, width) {
  const height = width < NARROW ? 290 : 312;
  const [left, right] = [16, width - 12];
  const at = part => left + part * (right - left);
  const stages = ["score", "align", "average", ...(heads > 1 ? ["join"] : [])];
  const first = BOX + 1 + ENTRY;
  const edge = heads > 1 ? 10 : 0; // of the sheets
  const step = (height - TAIL - first - BOX - edge) / (stages.length - 1);
  const top = Object.fromEntries(stages.map((name, i) => [name, first + i * step + (name === "join" ? edge : 0)]));
  return { height, left, right, query: at(0.06), key: at(0.4), value: at(0.76), middle: at(0.2), lane: at(0.76) - 14, top };
}

function arrow(kind, x, from, to) {
  return [
    element("path", { class: `flow ${kind}`, d: `M${x} ${from}V${to - 6}` }),
    element("path", { class: `tip ${kind}`, d: `M${x - 5} ${to - 7}H${x + 5}L${x} ${to}Z` }),
  ];
}

const rectangle = (kind, x, y, to, height) =>
  element("rect", { class: kind, x, y, width: to - x, height, rx: 4 });

// A box with a word and a formula in it; the formula is at `indent`, or follows the word.
function stage(kind, x, y, to, word, formula, indent = 0) {
  return [
    rectangle(classes("stage", kind), x, y, to, BOX),
    ...(indent ? [element("text", { class: "word", x: x + 9, y: y + 17 }, word)] : []),
    maths("", x + 8 + indent, y + 17.5, to - x - 14 - indent, formula, indent ? "" : word),
  ];
}

// What enters: queries and features. Self-attention asks with the features themselves.
function sources({ words, query, capsules }, shapes, place, clash) {
  const { left, right, key } = place;
  const clashes = (clash.has("query") || (clash.has("capsules") && capsules > 0)) && "clash";
  const features = (kind, from) => stage(kind, from, 1, right, words.features, ` F  ${shown(shapes.F)}`);
  if (query === "self") return features(classes("key", clashes), left);
  const [word, shape] = {
    basic: [words.queries, `  ${shown(shapes.source)}`],
    learned: [capsules ? words.learned_queries : words.learned_query, ""],
    removed: [words.no_query, ""],
  }[query];
  return [
    ...stage(classes(query === "removed" ? "absent" : "query", clashes), left, 1, key - 24, word, shape),
    ...features("key", key - 14),
  ];
}

// What goes down from there to the score, and to the average.
function entering(state, shapes, { query, key, value, right, top }, isNarrow) {
  const hasHeads = state.heads > 1;
  const isOwn = state.query === "self";
  const labelled = (x, to, formula, shape) => [
    maths("", x + 9, BOX + 17, to - x - 14, formula),
    ...(shape ? [maths("", x + 9, BOX + 34, to - x - 14, shown(shape))] : []),
  ];
  const map = (name, matrix, from) => (matrix ? `${isNarrow ? "" : `${name} = `}${matrix} ${from}` : `${name} = ${from}`);
  const asks = multiplicityOf(state) === "hops" ? "[q; c]"
    : hasHeads ? map("Q", "W_q", isOwn ? "F" : "q") : isOwn ? map("Q", "W_Q", "F") : "q";
  return [
    ...(state.query === "removed" ? [] : [...arrow("query", query, BOX + 1, top.score), ...labelled(query, key, asks, shapes.Q)]),
    ...arrow("key", key, BOX + 1, top.score), ...labelled(key, value, map("K", hasHeads && "W_K", "F"), shapes.K),
    ...arrow("key", value, BOX + 1, top.average), ...labelled(value, right + 8, map("V", hasHeads && "W_V", "F"), shapes.V),
  ];
}

// Heads are sheets, one behind the other.
function sheets({ heads, words }, { left, right, top, value }, isClash) {
  if (heads === 1) return [];
  const count = Math.min(heads, SHEETS);
  const bottom = top.average + BOX;
  return [
    ...Array.from({ length: count }, (_, i) => 2.5 * (count - 1 - i)).map(shift =>
      rectangle(classes("sheet", isClash && "clash"), left - 7 + shift, top.score - 9 + shift, right + 3 + shift, bottom - top.score + 16)),
    element("text", { class: "ink", x: value + 9, y: (top.align + top.average + BOX) / 2 + 4, "data-room": right - value - 8 }, `${heads} ${words.heads}`),
  ];
}

// Hops go back to where the queries come from.
function loop(state, { left, right, query, middle, height }, isNarrow, isClash) {
  const { words, hops } = state;
  if (hops === 1) return [];
  const refines = state.heads > 1; // the features; else the query alone is new
  const [x, y] = refines ? [left, BOX / 2 + 1] : [query, BOX + 12];
  const word = `${hops} ${words.hops}${isNarrow || refines ? "" : `: ${words.each_hop}`}`;
  return [
    element("path", { class: classes("flow plain", isClash && "clash"), d: `M${middle} ${height - TAIL + 8}H3V${y}H${x - 6}` }),
    element("path", { class: "tip plain", d: `M${x - 7} ${y - 5}V${y + 5}L${x} ${y}Z` }),
    maths("end", right, height - 6, 0.55 * (right - left), refines && !isNarrow ? ":  F ← norm(F + c)" : "", word),
  ];
}

function paint(state, now, width) {
  const { words, formulas, dimension } = state;
  const isNarrow = width < NARROW;
  const shapes = now.shapes ?? {};
  const clash = new Set(now.refusal?.clash);
  const isClash = (...names) => names.some(name => clash.has(name));
  const place = layout(state, width);
  const { height, left, right, middle, lane, top } = place;

  const box = (name, kind, to, formula) => {
    const axis = name === "average" ? "dimension" : name;
    const [word, indent] = isNarrow ? ["", 0] : [words[name], 76];
    return stage(classes(kind, isClash(axis) && "clash"), left, top[name], to, word, formula, indent);
  };
  // An arrow from a box down to the next, with what it passes on.
  const passed = (kind, from, to, symbol, shape) => {
    const [start, end] = [top[from] + BOX, to ? top[to] : height - 1];
    const middleOf = to === "join" ? end - 12 : (start + end) / 2; // below the edge of the sheets
    return [
      ...arrow(kind, middle, start, end),
      maths("", middle + 9, middleOf + 4, lane - middle - 16, `${symbol}  ${shown(shape)}`),
    ];
  };
  const asks = multiplicityOf(state) === "hops" ? "[q; c]" : "q";
  const last = state.heads > 1 ? "join" : "average";

  return picture(state, "steady", width, height,
    element("g", now.refusal ? { class: "refused" } : {},
      ...sheets(state, place, isClash("heads", "multiplicity")),
      ...loop(state, place, isNarrow, isClash("hops", "multiplicity")),
      ...sources(state, shapes, place, clash),
      ...entering(state, shapes, place, isNarrow),
      ...box("score", "", lane, scoreFormula(state, asks)),
      ...passed("key", "score", "align", "e", shapes.e),
      ...box("align", "weight", lane, formulas.align[state.align]),
      ...passed("weight", "align", "average", "a", shapes.a),
      ...box("average", "", right, formulas.average[dimension]),
      ...(last === "join" ? [...passed("plain", "average", "join", "c^{(j)}", shapes.c), ...box("join", "", right, formulas.join)] : []),
      ...passed("plain", last, null, "c", shapes.out),
    ),
  );
}

// --- what it says, and the numbers behind it --------------------------------------------------------

const grouped = number => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const amount = (number, name) => element("data", { value: String(number), "data-name": name }, grouped(number));

// What to write in Python for this layer; what is at its default is left out.
function call(state) {
  const { query, align, d, half_width } = state;
  const defaults = { score: "scaled_dot", align: "softmax", dimension: "single", query: "basic", heads: 1, hops: 1, capsules: 0 };
  const given = Object.keys(defaults).filter(name => state[name] !== defaults[name]);
  const values = [
    ...given.map(name => `${name}=${JSON.stringify(state[name])}`),
    ...(query === "basic" ? [`d_q=${d}`] : []),
    ...(align.startsWith("local") ? [`half_width=${half_width}`] : []),
  ];
  return `Attention(${[d, ...values].join(", ")})`;
}

function report(state, now) {
  const { words } = state;
  if (now.refusal) return [element("span", {}, element("b", {}, `${words.impossible}: `), now.refusal.why)];
  const [name, ...others] = now.names;
  const total = totals(now);
  return [
    name
      ? element("span", { class: "line" }, `${words.model} `, element("b", {}, name), ...(others.length ? [` (${words.also} ${others.join(", ")})`] : []))
      : element("span", { class: "line" }, words.unpublished),
    ...["parameters", "flops", "memory"].map(what =>
      element("span", {}, `${words[what]} `, element("b", {}, amount(total[what], what)), what === "memory" ? ` ${words.numbers_kept}` : "")),
  ];
}

function tables(state, now) {
  const { words } = state;
  if (now.refusal) return [said(now.refusal.why)];
  const total = totals(now);
  const costs = what => table([words[what], words.count], [
    ...now[what].map(([part, number]) => [words[part], amount(number, `${what}_part`)]),
    [words.total, grouped(total[what])],
  ]);
  return [
    element("p", { class: "note" }, `${words.in_code} `, element("code", {}, call(state))),
    table([words.parameters, words.shape, words.copies, words.count], [
      ...now.parameters.map(([copies, name, ...sizes]) =>
        [name, shown(sizes), `${copies}`, amount(copies * product(sizes), "parameter")]),
      [words.total, "", "", grouped(total.parameters)],
    ]),
    costs("flops"),
    costs("memory"),
  ];
}

function draw(state, now, width) {
  return { body: [paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls --------------------------------------------------------------------------------------

const SYMBOLS = { n: "n", q: "q", d: "d" };

function controls(state) {
  const { words, axes, steps } = state;
  const choice = axis => ({
    kind: "choice", word: words[axis], options: axes[axis], value: state[axis], set: value => ({ [axis]: value }),
  });
  const slider = name => ({
    kind: "slider", symbol: SYMBOLS[name] ?? "", word: words[name],
    min: 0, max: steps[name].length - 1, step: 1, value: steps[name].indexOf(state[name]),
    text: name === "q" && state.query !== "basic" ? words.own : `${state[name]}`,
    set: value => ({ [name]: steps[name][value] }),
  });
  return [
    { kind: "controls", of: AXES.map(choice) },
    { kind: "controls small", of: [...COUNTS, "n", "q", "d"].map(slider) },
  ];
}

export default explorer({ compute, draw, controls });
