// Softmax under your hand: move scores and temperature, hide keys, see the weights follow.
import { addUp, choice, drag, entryWriter, exact, html, named, reader, rounded, scale, slider, softmax, squeeze, stage, svg, table, toggle, writer } from "./kit.js";

// --- the arithmetic, as in attn_course/alignment/soft.py -----------------------------------------

function compute({ scores, mask, temperature, masking }) {
  const everyone = mask.map(() => true);
  const whole = softmax(scores, masking === "before" ? mask : everyone, temperature);
  const weights = whole.map((weight, l) => (mask[l] ? weight : 0));
  const lost = whole.map((weight, l) => weight - weights[l]); // 0 where hidden before the softmax
  const hides = !mask.every(Boolean);
  const isNothing = !mask.some(Boolean);
  const isShort = !isNothing && hides && masking === "after";
  // Weights that do not add up to 1 have no entropy.
  const entropy = -addUp(weights.filter(weight => weight > 0).map(weight => weight * Math.log(weight))) + 0;
  return { weights, lost, total: addUp(weights), entropy: isNothing || isShort ? null : entropy, isNothing, isShort };
}

// --- the picture ---------------------------------------------------------------------------------

const HEIGHT = 340;
const SCORES = { top: 40, bottom: 152 }; // above and below it a number has room
const WEIGHTS = { top: 206, bottom: 306 };
const MARGIN = { left: 40, right: 12 };

function column(width, names) {
  const room = (width - MARGIN.left - MARGIN.right) / names.length;
  return { middle: l => MARGIN.left + (l + 0.5) * room, at: x => Math.floor((x - MARGIN.left) / room), room };
}

function draw(picture, width, state, now) {
  const { names, scores, mask, masking, frame, words } = state;
  const { middle, room } = column(width, names);
  const high = scale(frame, [SCORES.bottom, SCORES.top]);
  const tall = scale([0, 1], [WEIGHTS.bottom, WEIGHTS.top]);
  const right = width - MARGIN.right;
  const rule = (at, kind) => svg("path", { class: kind, d: `M${MARGIN.left} ${at}H${right}` });
  const beside = (at, text) => svg("text", { class: "tick beside", x: MARGIN.left - 7, y: at + 4 }, text);
  const over = (l, y, text, kind = "below") => svg("text", { class: kind, x: middle(l), y }, text);
  const bar = (kind, l, from, to) => svg("rect", {
    class: `bar ${kind}`, x: middle(l) - Math.min(36, 0.64 * room) / 2, y: Math.min(from, to),
    width: Math.min(36, 0.64 * room), height: Math.abs(from - to),
  });
  const counts = l => mask[l] || masking === "after"; // does the score reach the softmax?

  picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  picture.replaceChildren(
    svg("text", { class: "word", x: MARGIN.left, y: 14 }, words.scores),
    svg("text", { class: "word", x: MARGIN.left, y: WEIGHTS.top - 20 }, words.weights),
    ...[frame[0], frame[1]].flatMap(at => [rule(high(at), "grid"), beside(high(at), rounded(at, 0))]),
    ...[0.5, 1].flatMap(at => [rule(tall(at), "grid"), beside(tall(at), String(at))]),
    ...names.flatMap((key, l) => [
      bar(counts(l) ? "score" : "hidden", l, high(0), high(scores[l])),
      over(l, high(scores[l]) + (scores[l] >= 0 ? -6 : 15), counts(l) ? rounded(scores[l], 1) : "−∞"),
      bar("weight", l, tall(0), tall(now.weights[l])),
      ...(now.lost[l] > 0 ? [bar("hidden", l, tall(0), tall(now.lost[l]))] : []),
      over(l, tall(now.weights[l] + now.lost[l]) - 6, rounded(now.weights[l], 2)),
      over(l, WEIGHTS.bottom + 20, key, mask[l] ? "below name" : "below name struck"),
    ]),
    rule(high(0), "axis"),
    rule(WEIGHTS.bottom, "axis"),
    beside(high(0), "0"),
    beside(WEIGHTS.bottom, "0"),
  );
  for (const name of picture.querySelectorAll(".name")) squeeze(name, room - 4);
}

// --- the numbers behind it -----------------------------------------------------------------------

function numbers({ words, names, scores, mask, temperature }, now) {
  return [
    table([words.quantity, words.number], [
      [words.temperature, exact(temperature, "temperature")],
      [words.total, exact(now.total, "total")],
      [words.entropy, now.entropy === null ? words.none : exact(now.entropy, "entropy")],
    ]),
    table([words.key, words.seen, words.score, words.weight], names.map((key, l) => [
      key,
      mask[l] ? words.yes : words.no,
      exact(scores[l], "score"),
      exact(now.weights[l], "weight"),
    ])),
  ];
}

function mostWeight({ words, names }, { weights }) {
  const largest = Math.max(...weights);
  const text = `${names[weights.indexOf(largest)]} ${rounded(largest, 2)}`;
  return html("span", {}, `${words.most} `, html("b", {}, text));
}

// --- all together --------------------------------------------------------------------------------

const MOVING = ["scores", "mask", "temperature", "masking"];
const FIXED = ["names", "frame", "words"];

function render({ model, el }) {
  const read = reader(model, [...FIXED, ...MOVING]);
  const write = writer(model);
  const put = entryWriter(model);
  const { words, names, frame } = read();

  const perKey = names.map((key, l) => ({
    score: slider({
      symbol: html("span", {}, "e", html("sub", {}, `${l + 1}`)), word: words.score_of.replace("{key}", key),
      onInput: value => put("scores", l, value),
    }),
    attend: toggle({ word: words.attend.replace("{key}", key), onInput: value => put("mask", l, value) }),
  }));
  // The slider moves the logarithm: as much room from 0.1 to 1 as from 1 to 10.
  const temperature = slider({
    symbol: "τ", word: words.temperature,
    onInput: value => write("temperature", Number((10 ** value).toPrecision(3))),
  });
  const masking = choice({
    word: words.masking, options: ["before", "after"].map(name => [name, words[name]]),
    onInput: value => write("masking", value),
  });

  const picture = svg("svg", { class: "picture upright", role: "img", "aria-label": words.picture, height: HEIGHT });
  const report = html("output", { class: "report" });
  const behind = html("div", { class: "tables" });

  let drawnWidth = 640;
  function show(width) {
    drawnWidth = width;
    const state = read();
    const now = compute(state);
    draw(picture, width, state, now);
    perKey.forEach(({ score, attend }, l) => {
      const value = state.scores[l];
      score.show({ min: frame[0], max: frame[1], step: 0.1, value, text: rounded(value, 1) });
      attend.show(state.mask[l]);
    });
    const exponent = Math.log10(state.temperature);
    temperature.show({
      min: Math.min(-1, exponent), max: Math.max(1, exponent), step: 0.05, value: exponent,
      text: String(Number(state.temperature.toPrecision(3))),
    });
    masking.show(state.masking);
    report.replaceChildren(
      ...(now.isNothing ? [] : [mostWeight(state, now)]),
      named(words.total, now.total),
      ...(now.entropy === null ? [] : [named(words.entropy, now.entropy), named(words.equal, Math.exp(now.entropy))]),
      ...(now.isNothing ? [html("span", {}, words.nothing)] : []),
      ...(now.isShort ? [html("span", {}, words.short)] : []),
    );
    behind.replaceChildren(...numbers(state, now));
  }

  // A score's bar follows a mouse, too; the sliders serve fingers and the keyboard.
  // A finger that moves up and down scrolls the page.
  let held = -1;
  drag(picture, (x, y, starts) => {
    if (starts) held = y < (SCORES.bottom + WEIGHTS.top) / 2 ? column(drawnWidth, names).at(x) : -1;
    if (held < 0 || held >= names.length) return;
    const score = scale(frame, [SCORES.bottom, SCORES.top]).invert(y);
    put("scores", held, Number(Math.min(frame[1], Math.max(frame[0], score)).toFixed(1)));
  }, "never");

  const cells = perKey.map(({ score, attend }) => html("div", {}, score.element, attend.element));
  return stage({
    model, el, moving: MOVING, picture, report, behind, show,
    parts: [
      picture,
      // Next to the picture, so that a phone shows both.
      html("div", { class: "controls" }, temperature.element, masking.element),
      html("div", { class: "controls small" }, ...cells),
    ],
  });
}

export default { render };
