// Co-attention step by step: summarise, ask, ask back.
import { addUp, element, exact, fitted, NARROW, picture, rounded, said, softmax, table } from "./kit.js";
import { explorer } from "./stage.js";

// --- the arithmetic: dot products, as in the pencil example of the page ---------------------------

const mixed = (weights, keys) => keys[0].map((_, f) => addUp(weights.map((weight, i) => weight * keys[i][f])));
const products = (query, keys) => keys.map(key => addUp(key.map((entry, f) => entry * query[f])));
const equal = keys => keys.map(() => 1 / keys.length);

function answered(query, keys, sharpness) {
  const weights = softmax(products(query, keys).map(product => sharpness * product));
  return { weights, vector: mixed(weights, keys) };
}

function compute({ names, values, left, right, form, third, sharpness }) {
  const [first, second] = [left, right].map(side => side.map(word => values[names.indexOf(word)]));
  const means = [first, second].map(keys => mixed(equal(keys), keys));
  const summary = form === "alternating"
    ? answered([1, 0, 0], first, sharpness) // how much a thing: a learned vector would be here
    : { weights: equal(first), vector: means[0] };
  const there = answered(summary.vector, second, sharpness);
  const asker = form === "interactive" ? means[1] : third === "answer" ? there.vector : summary.vector;
  const back = answered(asker, first, sharpness);
  return { steps: [summary, there, back] };
}

// --- the picture: a panel for each step ----------------------------------------------------------

const TOP = 40;

function paint(state, now, width) {
  const { left, right, step, form, words } = state;
  const row = width < NARROW ? 34 : 40;
  const room = width / 3;
  const text = (kind, x, y, word) => element("text", { class: kind, x, y }, word);
  const titles = words[`${form}_steps`];
  const height = TOP + 3 * row + 44;
  const panel = (place, labels) => {
    const x = place * room + 6;
    const { weights, vector } = now.steps[place];
    const isShown = place < step;
    return [
      fitted("word", x, 16, room - 12, titles[place]),
      ...labels.flatMap((label, i) => {
        const y = TOP + i * row;
        const share = isShown ? weights[i] : 0;
        return [
          fitted("word", x, y + 10, room - 12, label),
          element("rect", { class: "cell value", x, y: y + 14, width: room - 46, height: 12, "fill-opacity": 0.12 }),
          element("rect", { class: "bar weight", x, y: y + 14, width: share * (room - 46), height: 12 }),
          text("beside", x + room - 10, y + 24, isShown ? rounded(weights[i], 2) : "?"),
        ];
      }),
      ...(isShown ? [fitted(place === 2 ? "word" : "query word", x, height - 22, room - 12,
        `${words.vectors[place]} = (${vector.map(entry => rounded(entry, 1)).join(", ")})`)] : []),
    ];
  };
  return picture(state, "steady", width, height, ...panel(0, left), ...panel(1, right), ...panel(2, left));
}

// --- what it says, and the numbers behind it -----------------------------------------------------

function report({ words, step, form, third, left, right }, now) {
  const { weights } = now.steps[step - 1];
  const best = weights.indexOf(Math.max(...weights));
  const most = `${words.most} ${[left, right, left][step - 1][best]}, ${rounded(weights[best], 2)}.`;
  const isSlip = step === 3 && form === "alternating" && third === "summary";
  return [said(most), said(isSlip ? words.slip : words[`${form}_after`][step - 1])];
}

function tables({ words, left, right, form }, now) {
  const labels = [left, right, left];
  return now.steps.map(({ weights, vector }, place) => table([words[`${form}_steps`][place], words.weight], [
    ...labels[place].map((word, i) => [word, exact(weights[i], `weight_${place + 1}`)]),
    ...vector.map((entry, f) => [`${words.vectors[place]} ${f + 1}`, exact(entry, `vector_${place + 1}`)]),
  ]));
}

function draw(state, now, width) {
  return { body: [paint(state, now, width)], report: report(state, now), tables: tables(state, now) };
}

// --- controls ------------------------------------------------------------------------------------

function controls({ words, step, form, third, sharpness }) {
  return [{ kind: "controls", of: [
    {
      kind: "slider", symbol: "", word: words.step,
      min: 1, max: 3, step: 1, value: step, text: `${step}`, set: value => ({ step: value }),
    },
    {
      kind: "slider", symbol: "s", word: words.sharpness,
      min: 0, max: 4, step: 0.1, value: sharpness, text: rounded(sharpness, 1), set: value => ({ sharpness: value }),
    },
    {
      kind: "choice", word: words.form, options: ["alternating", "interactive"].map(name => [name, words[name]]),
      value: form, set: value => ({ form: value }),
    },
    {
      kind: "choice", word: words.third, options: [["answer", words.answer_label], ["summary", words.summary]],
      value: third, set: value => ({ third: value }),
    },
  ] }];
}

export default explorer({ compute, draw, controls });
