// Seven scores under your hand: drag a query and a key, see every score of chapter 2 follow.
import { addUp, clamp, counted, element, entry, exact, named, picture, rounded, scale, table, written } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/scoring.py ------------------------------------------------

const inner = (a, b) => addUp(a.map((entry, i) => entry * b[i]));
const times = (matrix, vector) => matrix.map(row => inner(row, vector));
const length = vector => Math.sqrt(inner(vector, vector));

const SIMILARITIES = {
  cosine: (q, k) => inner(q, k) / ((length(q) || 1) * (length(k) || 1)),
  euclidean: (q, k) => -length(q.map((entry, i) => entry - k[i])) + 0,
  squared_euclidean: (q, k) => -0.5 * length(q.map((entry, i) => entry - k[i])) ** 2 + 0,
};

// n signs, of which sqrt(n) more are plus than minus.
function signs(n) {
  const minus = (n - Math.sqrt(n)) / 2;
  return Array.from({ length: n }, (_, i) => (i < n - minus ? 1 : -1));
}

// The two entries of the picture, repeated until query, key and parameters are d_k wide.
function widened({ query, key, d_k, parameters: { W, b, W_q, W_k } }) {
  const n = d_k / 2;
  const copies = signs(n);
  const root = Math.sqrt(n);
  const once = copies.map(() => 1);
  const repeat = (vector, factors) => factors.flatMap(factor => vector.map(entry => factor * entry));
  return {
    q: repeat(query, once), k: repeat(key, copies), b: repeat(b, once),
    Wq: repeat(times(W, query), once), // W has its copies on the diagonal, and 0 elsewhere
    W_q: W_q.map(row => repeat(row, copies).map(entry => entry / root)),
    W_k: W_k.map(row => repeat(row, once).map(entry => entry / root)),
  };
}

// Sums that cancel leave a rest of rounding: 0 to whoever reads it.
const NOISE = 1e-12;

function compute(state) {
  const { w, b_activated, b_additive } = state.parameters;
  const { q, k, Wq, b, W_q, W_k } = widened(state);
  const fromKey = times(W_k, k);
  const hidden = times(W_q, q).map((entry, i) => Math.tanh(entry + fromKey[i] + b_additive[i]));
  const scores = {
    additive: inner(w, hidden),
    dot: inner(q, k),
    scaled_dot: inner(q, k) / Math.sqrt(state.d_k),
    general: inner(k, Wq),
    biased_general: inner(k, Wq.map((entry, i) => entry + b[i])),
    activated_general: Math.tanh(inner(k, Wq) + b_activated),
    similarity: SIMILARITIES[state.similarity](q, k),
  };
  return Object.fromEntries(
    Object.entries(scores).map(([name, score]) => [name, Math.abs(score) < NOISE ? 0 : score]),
  );
}

// --- the picture ---------------------------------------------------------------------------------

const SIDE = 240;
const EDGE = 26; // a name next to the tip of an arrow has room
const GRIP = 20; // how near its tip an arrow is taken hold of

// The plane is a square in the middle of the room there is.
function plane(width, reach) {
  const half = Math.min(width, SIDE) / 2 - EDGE;
  return {
    x: scale([-reach, reach], [width / 2 - half, width / 2 + half]),
    y: scale([-reach, reach], [SIDE / 2 + half, SIDE / 2 - half]),
  };
}

function paint(state, width) {
  const { reach, query, key } = state;
  const { x, y } = plane(width, reach);
  const whole = Array.from({ length: 2 * Math.floor(reach) + 1 }, (_, i) => i - Math.floor(reach));
  const rules = places => places.map(at => `M${x(at)} ${y(-reach)}V${y(reach)}M${x(-reach)} ${y(at)}H${x(reach)}`).join("");
  const mark = at => [
    element("text", { class: "tick below", x: x(at), y: y(0) + 15 }, rounded(at, 0)),
    element("text", { class: "tick beside", x: x(0) - 5, y: y(at) + 4 }, rounded(at, 0)),
  ];
  return picture(state, "steady", width, SIDE,
    element("path", { class: "grid", d: rules(whole) }),
    element("path", { class: "axis", d: rules([0]) }),
    ...[-reach + 1, reach - 1].flatMap(mark),
    ...arrow("key", "k", x, y, key),
    ...arrow("query", "q", x, y, query),
  );
}

// An arrow whose tip can be taken hold of.
function arrow(kind, symbol, x, y, [across, up]) {
  const [cx, cy] = [x(across), y(up)];
  return [
    element("path", { class: `arrow ${kind}`, d: `M${x(0)} ${y(0)}L${cx} ${cy}` }),
    element("circle", { class: `tip ${kind}`, cx, cy, r: 6 }),
    element("text", { class: `vector-name ${kind}`, x: cx + (across < 0 ? -17 : 10), y: cy + (up < 0 ? 16 : -8) }, symbol),
    element("circle", { class: "grip", cx, cy, r: GRIP }),
  ];
}

// --- the scores ----------------------------------------------------------------------------------

// The longest bar. Where scores differ by more, a softmax has no choice left to make.
const LONGEST = 10;

// From the middle of its cell, to the right where `part` is above 0; a sign says: there is more.
function lyingBar(name, part) {
  const half = clamp(50 * part, [-50, 50]);
  return element("svg", { class: "bar-cell", height: 16, "aria-hidden": "true", "data-bar": name },
    element("rect", { class: "bar score", x: `${Math.min(50 + half, 50)}%`, y: 2, width: `${Math.abs(half)}%`, height: 12 }),
    element("line", { class: "axis", x1: "50%", x2: "50%", y1: 0, y2: 16 }),
    ...(part > 1 ? [element("text", { class: "more beside", x: "98%", y: 12 }, "»")] : []),
    ...(part < -1 ? [element("text", { class: "more", x: "2%", y: 12 }, "«")] : []),
  );
}

function bars({ words, formulas, similarity }, now) {
  const ends = [-LONGEST, 0, LONGEST].map(end => element("span", {}, rounded(end, 0)));
  const formula = name => formulas[name === "similarity" ? similarity : name];
  return table(
    [words.score_name, element("span", { class: "ends" }, ...ends), words.number],
    Object.entries(now).map(([name, score]) => [
      element("span", {}, words[name], element("span", { class: "formula" }, formula(name))),
      lyingBar(name, score / LONGEST),
      exact(score, name),
    ]),
  );
}

// --- the numbers behind them ---------------------------------------------------------------------

const OWNERS = { W: "generals", b: "biased_general", b_activated: "activated_general" };

function tables({ words, query, key, d_k, parameters, formulas }) {
  return [
    element("p", { class: "note" }, words.note),
    table([words.quantity, "1", "2"], [
      [words.query, ...query.map(number => exact(number, "query"))],
      [words.key, ...key.map(number => exact(number, "key"))],
      [words.d_k, counted(d_k, "d_k"), ""],
    ]),
    table([words.parameter, words.belongs, words.values], Object.entries(parameters).map(([name, value]) => [
      formulas[name], words[OWNERS[name] ?? "additive"], written(value),
    ])),
    element("p", { class: "note" }, words.spread),
  ];
}

function draw(state, now, width) {
  const { words } = state;
  return {
    body: [element("div", { class: "pair" }, paint(state, width), element("div", { class: "bars" }, bars(state, now)))],
    report: [named(words.dot, now.dot), named(words.scaled_dot, now.scaled_dot)],
    tables: tables(state),
  };
}

// --- controls ------------------------------------------------------------------------------------

function controls(state) {
  const { words, widths, reach, d_k, similarity } = state;
  const entries = ["query", "key"].flatMap(name => [0, 1].map(i => ({
    kind: "slider", symbol: name[0], sub: `${i + 1}`, word: words[name],
    min: -reach, max: reach, step: 0.1, value: state[name][i], text: rounded(state[name][i], 1),
    set: value => entry(state, name, i, value),
  })));
  return [{ kind: "controls", of: [
    ...entries,
    {
      kind: "slider", symbol: "d", sub: "k", word: words.d_k,
      min: 0, max: widths.length - 1, step: 1, value: widths.indexOf(d_k), text: `${d_k}`,
      set: value => ({ d_k: widths[value] }),
    },
    {
      kind: "choice", word: words.similarity, options: Object.keys(SIMILARITIES).map(name => [name, words[name]]),
      value: similarity, set: value => ({ similarity: value }),
    },
  ] }];
}

// A tip follows finger or mouse; the sliders serve the keyboard.
function hold(state, width, x, y) {
  const places = plane(width, state.reach);
  const far = name => Math.hypot(x - places.x(state[name][0]), y - places.y(state[name][1]));
  const nearest = far("query") <= far("key") ? "query" : "key";
  return far(nearest) <= GRIP ? nearest : null;
}

function pull({ reach }, width, x, y, name) {
  const places = plane(width, reach);
  const inside = number => Number(clamp(number, [-reach, reach]).toFixed(1));
  return { [name]: [inside(places.x.invert(x)), inside(places.y.invert(y))] };
}

export default explorer({ compute, draw, controls, hold, pull, fingers: "at once", width: 280 });
