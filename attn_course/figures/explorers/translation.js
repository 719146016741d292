// A translator's alignment: the weights of one step as bars, those of all steps so far in a table.
import { addUp, clamp, counted, element, exact, fitted, legend, line, NARROW, picture, rounded, said, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic, as in attn_course/evaluation: links.py and correctness.py --------------------

const isGold = row => row.includes(true);
const mean = numbers => addUp(numbers) / numbers.length;
const known = numbers => numbers.filter(number => number !== null);
const count = matrix => matrix.flat().filter(Boolean).length;

function compute({ examples, example, step }) {
  const { weights, possible, sure } = examples[example - 1];
  if (!weights[step - 1]) throw new Error(`no step ${step}`); // a link may say anything
  const peaks = weights.map(row => row.indexOf(Math.max(...row)));
  const shares = weights.map((row, i) =>
    isGold(possible[i]) ? addUp(row.filter((_, j) => possible[i][j])) / addUp(row) : null);
  // What equal weights would have: many gold letters are hit by chance.
  const chances = possible.map(row => (isGold(row) ? row.filter(Boolean).length / row.length : null));
  // A sign that no letter says has no link, whatever its weights are.
  const drawn = possible.map((row, i) => row.map((_, j) => isGold(row) && j === peaks[i]));
  const met = gold => count(drawn.map((row, i) => row.map((isDrawn, j) => isDrawn && gold[i][j])));
  return {
    peaks, shares, chances,
    mean: mean(known(shares)),
    uniform: mean(known(chances)),
    errorRate: 1 - (met(sure) + met(possible)) / (count(drawn) + count(sure)),
  };
}

// --- the picture: bars, letters, and below them a row of the table for each sign -------------------

const TOP = 26;
const HEADROOM = 16; // above the bars, for a number
const GAP = 5; // between letters and table
const NARROWEST = 10; // a letter's column, in pixels
const WIDEST = 46;

const range = length => Array.from({ length }, (_, i) => i);

// Where things are. A word that is too long for one line goes on in the next.
function layout({ examples, example }, width) {
  const { source, target, weights } = examples[example - 1];
  const isNarrow = width < NARROW;
  const left = isNarrow ? 26 : 40;
  const room = width - left - 2;
  const lines = Math.ceil((source.length * NARROWEST) / room);
  const each = Math.ceil(source.length / lines);
  const column = Math.min(WIDEST, room / each);
  const bars = lines > 1 ? 46 : isNarrow ? 76 : 92;
  const letter = isNarrow ? 20 : 28;
  const row = lines > 2 ? 12 : lines > 1 ? 15 : isNarrow ? 21 : 24;
  const height = bars + letter + GAP + row * target.length + 16;
  const base = at => TOP + at * height + bars; // between bars and letters
  return {
    left, lines, column, bars, letter, row, base,
    bottom: TOP + lines * height - 12,
    top: Math.ceil(10 * Math.max(...weights.flat()) - 1e-9) / 10, // of the bars, the same in every step
    x: j => left + (j % each) * column,
    y: (at, i) => base(at) + letter + GAP + i * row,
    lineOf: j => Math.floor(j / each),
    within: at => range(source.length).slice(at * each, (at + 1) * each),
  };
}

// The bars and letters of one line.
function signs({ source }, weights, peak, place, at) {
  const { left, column, bars, letter, top, x } = place;
  const base = place.base(at);
  const [size, drop] = column < 16 ? ["", 4] : [" wide", 5];
  return [
    element("text", { class: "tick beside", x: left - 5, y: base - bars + HEADROOM + 4 }, rounded(top, 1)),
    element("text", { class: "tick beside", x: left - 5, y: base }, "0"),
    element("path", { class: "grid", d: `M${left} ${base - bars + HEADROOM}h${place.within(at).length * column}` }),
    ...place.within(at).flatMap(j => {
      const height = ((bars - HEADROOM) * weights[j]) / top;
      const kind = `below letter${size}${j === peak ? " best" : ""}`;
      return [
        element("rect", { class: "bar weight", x: x(j) + 0.12 * column, y: base - height, width: 0.76 * column, height }),
        element("rect", { class: "cell value", x: x(j), y: base, width: column, height: letter, "fill-opacity": 0.16 }),
        fitted(kind, x(j) + column / 2, base + letter / 2 + drop, column - 1, source[j]),
      ];
    }),
  ];
}

// The table below one line. Steps that are still to come are empty, so that they can be predicted.
function rows({ target, weights }, current, place, at) {
  const { left, column, row, top, x, y } = place;
  const places = place.within(at);
  const across = places.length * column;
  return [
    element("rect", { class: "band", x: 0, y: y(at, current), width: left + across, height: row }),
    ...target.flatMap((sign, i) => {
      const kind = i === current ? "below query" : i < current ? "below ink" : "below";
      return [
        fitted(kind, left / 2 - 2, y(at, i) + row / 2 + 4, left - 5, i > current ? "?" : sign),
        ...places.map(j => element("rect", {
          class: "cell weight", x: x(j), y: y(at, i), width: column, height: row,
          "fill-opacity": i > current ? 0 : weights[i][j] / top,
        })),
      ];
    }),
    element("path", { class: "query", d: `M${left} ${y(at, current)}h${across}v${row}h${-across}Z` }),
  ];
}

// The gold links of one line: outlines around letters that are next to each other.
function gold({ possible, sure }, current, place, at) {
  const { column, letter, row, x, y } = place;
  const places = place.within(at);
  const outline = (flags, from, height) => {
    const isIn = j => places.includes(j) && flags[j];
    return places.filter(j => isIn(j) && !isIn(j - 1)).map(start => {
      const end = places.find(j => j > start && !isIn(j)) ?? places.at(-1) + 1;
      return element("rect", {
        class: "correct", x: x(start) + 1, y: from + 1.5, width: (end - start) * column - 2, height: height - 3, rx: 2,
      });
    });
  };
  const underline = (i, j) => element("path", { class: "certain", d: `M${x(j) + 2} ${y(at, i) + row - 3}h${column - 4}` });
  return [
    ...outline(possible[current], place.base(at), letter),
    ...range(current + 1).flatMap(i => [
      ...outline(possible[i], y(at, i), row),
      ...places.filter(j => sure[i][j]).map(j => underline(i, j)),
    ]),
  ];
}

// The largest weight of each step, and the way from one to the next if both are in one line.
function looks({ possible }, { peaks }, current, { lineOf, column, row, x, y }) {
  const middle = i => [x(peaks[i]) + column / 2, y(lineOf(peaks[i]), i) + row / 2];
  const way = range(current + 1).slice(1)
    .filter(i => lineOf(peaks[i]) === lineOf(peaks[i - 1]))
    .map(i => line([middle(i - 1), middle(i)]));
  return [
    ...way.map(d => element("path", { class: "gaze", d })),
    ...range(current + 1).map(i => {
      const [cx, cy] = middle(i);
      return element("circle", { class: isGold(possible[i]) ? "prediction" : "unjudged", cx, cy, r: clamp(column / 4, [2.5, 4]) });
    }),
  ];
}

function paint(state, now, width) {
  const { examples, example, step, words } = state;
  const shown = examples[example - 1];
  const { target, weights } = shown;
  const place = layout(state, width);
  const { left, column, bars, top, x } = place;
  const current = step - 1;
  const peak = now.peaks[current];
  const highest = weights[current][peak];
  return picture(state, "rows", width, place.bottom,
    element("text", { class: "word", x: 0, y: 14, "data-room": width }, `${words.written} `,
      element("tspan", { class: "ink" }, target.slice(0, current).map(sign => `${sign} `).join("")),
      element("tspan", { class: "query" }, target[current])),
    ...range(place.lines).flatMap(at => [
      ...signs(shown, weights[current], peak, place, at),
      ...rows(shown, current, place, at),
      ...gold(shown, current, place, at),
    ]),
    ...looks(shown, now, current, place),
    element("text", {
      class: "below sure over", x: clamp(x(peak) + column / 2, [left + 13, width - 14]),
      y: place.base(place.lineOf(peak)) - ((bars - HEADROOM) * highest) / top - 4,
    }, rounded(highest, 2)),
  );
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ examples, example, step, words }, now) {
  const { source, weights, possible } = examples[example - 1];
  const peak = now.peaks[step - 1];
  const share = now.shares[step - 1];
  const bold = number => element("b", {}, rounded(number, 2));
  const against = (share, chance) => [bold(share), ` (${words.equal} ${rounded(chance, 2)})`];
  const found = [`${words.largest} `, bold(weights[step - 1][peak]), `, ${words.letter} ${peak + 1}, ${source[peak]}`];
  const verdict = possible[step - 1][peak] ? words.right : words.wrong;
  const judged = share === null
    ? [element("span", {}, ...found, "."), said(words.none)]
    : [element("span", {}, ...found, ": ", element("b", {}, verdict), "."), element("span", {}, `${words.on_gold} `, ...against(share, now.chances[step - 1]), ".")];
  return [
    ...judged,
    element("span", {}, `${words.whole} ${words.mean} `, ...against(now.mean, now.uniform), `, ${words.aer} `, bold(now.errorRate), "."),
  ];
}

function tables({ examples, example, step, words }, now) {
  const { source, target, weights, possible } = examples[example - 1];
  return [
    table([words.letter, `${words.weight} (${words.step} ${step})`, words.gold],
      source.map((sign, j) => [`${j + 1} ${sign}`, exact(weights[step - 1][j], "weight"), possible[step - 1][j] ? "✓" : ""])),
    table([words.sign, words.link, words.on_gold, words.equal],
      target.map((sign, i) => [
        sign,
        element("span", {}, counted(now.peaks[i] + 1, "letter"), ` ${source[now.peaks[i]]}`),
        now.shares[i] === null ? "–" : exact(now.shares[i], "share"),
        now.chances[i] === null ? "–" : exact(now.chances[i], "chance"),
      ])),
    table([words.whole, words.value], [
      [words.mean, exact(now.mean, "mean")],
      [words.equal, exact(now.uniform, "uniform")],
      [words.aer, exact(now.errorRate, "aer")],
    ]),
  ];
}

function draw(state, now, width) {
  const { examples, example, words } = state;
  const kinds = [["bar weight", words.weights], ["link", words.link], ["correct", words.gold]];
  if (examples[example - 1].sure.flat().includes(true)) kinds.push(["certain", words.sure]);
  const origin = words.origin ? [element("p", { class: "note" }, words.origin)] : [];
  return {
    body: [legend(...kinds), paint(state, now, width), ...origin],
    report: report(state, now), tables: tables(state, now),
  };
}

// --- controls, and a hand that chooses a row ------------------------------------------------------

const number = ({ target }) => target.filter(sign => sign.length === 1).join("");

function controls({ examples, example, step, words }) {
  const { target } = examples[example - 1];
  return [{ kind: "controls", of: [
    {
      kind: "choice", word: words.example,
      options: examples.map((one, i) => [i + 1, `${number(one)}: ${one.source.join("")}`]),
      // From the first step on, so that there is something left to predict.
      value: example, set: value => ({ example: Number(value), step: 1 }),
    },
    {
      kind: "slider", word: words.step,
      min: 1, max: target.length, step: 1, value: step, text: `${step} ${words.of} ${target.length}`,
      set: value => ({ step: value }),
    },
  ] }];
}

function rowAt(state, width, y) {
  const place = layout(state, width);
  const { target } = state.examples[state.example - 1];
  const candidates = range(place.lines).map(at => Math.floor((y - place.y(at, 0)) / place.row));
  return candidates.find(i => i >= 0 && i < target.length) ?? null;
}

const hold = (state, width, x, y) => rowAt(state, width, y);

function pull(state, width, x, y) {
  const row = rowAt(state, width, y);
  return row === null ? {} : { step: row + 1 };
}

export default explorer({ compute, draw, controls, pull, hold });
