// Seven scores under your hand: drag a query and a key, see every score of chapter 2 follow.
import { addUp, choice, counted, drag, entryWriter, exact, html, named, reader, rounded, scale, slider, stage, svg, table, writer, written } from "./kit.js";

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

const SIDE = 300;
const EDGE = 26; // a name beside the tip of an arrow has room
const GRIP = 20; // how near its tip an arrow is taken hold of

// The plane is a square in the middle of the room there is.
function plane(width, reach) {
  const half = Math.min(width, SIDE) / 2 - EDGE;
  return {
    x: scale([-reach, reach], [width / 2 - half, width / 2 + half]),
    y: scale([-reach, reach], [SIDE / 2 + half, SIDE / 2 - half]),
  };
}

function draw(scene, { x, y }, { reach }) {
  const whole = Array.from({ length: 2 * Math.floor(reach) + 1 }, (_, i) => i - Math.floor(reach));
  const rules = places => places.map(at => `M${x(at)} ${y(-reach)}V${y(reach)}M${x(-reach)} ${y(at)}H${x(reach)}`).join("");
  const mark = at => [
    svg("text", { class: "tick below", x: x(at), y: y(0) + 15 }, rounded(at, 0)),
    svg("text", { class: "tick beside", x: x(0) - 5, y: y(at) + 4 }, rounded(at, 0)),
  ];
  scene.replaceChildren(
    svg("path", { class: "grid", d: rules(whole) }),
    svg("path", { class: "axis", d: rules([0]) }),
    ...[-reach + 1, reach - 1].flatMap(mark),
  );
}

// An arrow whose tip can be taken hold of. It stays one element, or a finger would lose it.
function arrow(kind, symbol) {
  const shaft = svg("path", { class: `arrow ${kind}` });
  const tip = svg("circle", { class: `tip ${kind}`, r: 6 });
  const grip = svg("circle", { class: "grip", r: GRIP });
  const name = svg("text", { class: `vector-name ${kind}` }, symbol);
  // Or the page would scroll and the tip be let go; style sheets can't say so inside a picture.
  grip.addEventListener("touchstart", event => event.cancelable && event.preventDefault(), { passive: false });
  return {
    element: svg("g", {}, shaft, tip, name, grip),
    show({ x, y }, [across, up]) {
      const [cx, cy] = [x(across), y(up)];
      shaft.setAttribute("d", `M${x(0)} ${y(0)}L${cx} ${cy}`);
      for (const circle of [tip, grip]) {
        circle.setAttribute("cx", cx);
        circle.setAttribute("cy", cy);
      }
      name.setAttribute("x", cx + (across < 0 ? -17 : 10));
      name.setAttribute("y", cy + (up < 0 ? 16 : -8));
    },
  };
}

// --- the scores ----------------------------------------------------------------------------------

// The longest bar. Where scores differ by more, a softmax has no choice left to make.
const LONGEST = 10;

// From the middle of its cell, to the right where `part` is above 0; a sign says: there is more.
function bar(name, part) {
  const half = Math.max(-50, Math.min(50, 50 * part));
  return svg("svg", { class: "bar-cell", height: 16, "aria-hidden": "true", "data-bar": name },
    svg("rect", { class: "bar", x: `${Math.min(50 + half, 50)}%`, y: 2, width: `${Math.abs(half)}%`, height: 12 }),
    svg("line", { class: "axis", x1: "50%", x2: "50%", y1: 0, y2: 16 }),
    ...(part > 1 ? [svg("text", { class: "more beside", x: "98%", y: 12 }, "»")] : []),
    ...(part < -1 ? [svg("text", { class: "more", x: "2%", y: 12 }, "«")] : []),
  );
}

function bars({ words, formulas, similarity }, now) {
  const ends = [-LONGEST, 0, LONGEST].map(end => html("span", {}, rounded(end, 0)));
  const formula = name => formulas[name === "similarity" ? similarity : name];
  return table(
    [words.score_name, html("span", { class: "ends" }, ...ends), words.number],
    Object.entries(now).map(([name, score]) => [
      html("span", {}, words[name], html("span", { class: "formula" }, formula(name))),
      bar(name, score / LONGEST),
      exact(score, name),
    ]),
  );
}

// --- the numbers behind them ---------------------------------------------------------------------

const OWNERS = { W: "generals", b: "biased_general", b_activated: "activated_general" };

function numbers({ words, query, key, d_k, parameters, formulas }) {
  return [
    table([words.quantity, "1", "2"], [
      [words.query, ...query.map(entry => exact(entry, "query"))],
      [words.key, ...key.map(entry => exact(entry, "key"))],
      [words.d_k, counted(d_k, "d_k"), ""],
    ]),
    table([words.parameter, words.belongs, words.values], Object.entries(parameters).map(([name, value]) => [
      formulas[name], words[OWNERS[name] ?? "additive"], written(value),
    ])),
    html("p", { class: "note" }, words.spread),
  ];
}

// --- all together --------------------------------------------------------------------------------

const MOVING = ["query", "key", "d_k", "similarity"];
const FIXED = ["parameters", "formulas", "widths", "reach", "words"];

function render({ model, el }) {
  const read = reader(model, [...FIXED, ...MOVING]);
  const write = writer(model);
  const put = entryWriter(model);
  const { words, widths, reach } = read();

  const entries = ["query", "key"].flatMap(name => [0, 1].map(i => ({
    name, i, control: slider({
      symbol: html("span", {}, name[0], html("sub", {}, `${i + 1}`)),
      word: words[name],
      onInput: value => put(name, i, value),
    }),
  })));
  const width = slider({
    symbol: html("span", {}, "d", html("sub", {}, "k")), word: words.d_k,
    onInput: value => write("d_k", widths[value]),
  });
  const kind = choice({
    word: words.similarity, options: Object.keys(SIMILARITIES).map(name => [name, words[name]]),
    onInput: value => write("similarity", value),
  });

  const scene = svg("g");
  const arrows = { key: arrow("key", "k"), query: arrow("query", "q") };
  const picture = svg("svg", { class: "picture plane", role: "img", "aria-label": words.picture, height: SIDE },
    scene, ...Object.values(arrows).map(({ element }) => element));
  const scores = html("div", { class: "bars" });
  const report = html("output", { class: "unseen" }); // the table shows it already
  const behind = html("div", { class: "tables" });

  let places = plane(SIDE, reach);
  function show(room) {
    const state = read();
    places = plane(room, reach);
    picture.setAttribute("viewBox", `0 0 ${room} ${SIDE}`);
    draw(scene, places, state);
    for (const [name, { show: move }] of Object.entries(arrows)) move(places, state[name]);
    for (const { name, i, control } of entries) {
      control.show({ min: -reach, max: reach, step: 0.1, value: state[name][i], text: rounded(state[name][i], 1) });
    }
    width.show({ min: 0, max: widths.length - 1, step: 1, value: widths.indexOf(state.d_k), text: `${state.d_k}` });
    kind.show(state.similarity);
    const now = compute(state);
    scores.replaceChildren(bars(state, now));
    report.replaceChildren(named(words.dot, now.dot), ", ", named(words.scaled_dot, now.scaled_dot));
    behind.replaceChildren(...numbers(state));
  }

  // A tip follows finger or mouse; the sliders serve the keyboard.
  let held = null;
  drag(picture, (x, y, starts) => {
    if (starts) {
      const far = name => Math.hypot(x - places.x(model.get(name)[0]), y - places.y(model.get(name)[1]));
      const nearest = far("query") <= far("key") ? "query" : "key";
      held = far(nearest) <= GRIP ? nearest : null;
      return; // to touch a tip beside its middle is not yet to move it
    }
    if (!held) return;
    const inside = entry => Number(Math.min(reach, Math.max(-reach, entry)).toFixed(1));
    write(held, [inside(places.x.invert(x)), inside(places.y.invert(y))]);
  }, "at once");

  return stage({
    model, el, moving: MOVING, picture, report, behind, show,
    parts: [
      html("div", { class: "pair" }, picture, scores),
      html("div", { class: "controls two" }, ...entries.map(({ control }) => control.element)),
      html("div", { class: "controls" }, width.element, kind.element),
      html("p", { class: "note" }, words.note),
    ],
  });
}

export default { render };
