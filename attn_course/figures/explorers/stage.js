// All together: a module's functions become a figure, still or moving.
import { element } from "./kit.js";
import { fill, make, squeeze } from "./elements.js";
import { button, isInReach, panel } from "./controls.js";
import { drag } from "./hands.js";
import { linked } from "./links.js";

// Everything but the controls: a question, the figure, what it says, and the numbers behind it.
function frame({ words }, { body, report, tables }, kind, attributes = {}) {
  const { title, predict, question, answer, numbers } = words;
  return element("div", { class: `attn-explorer ${kind}`.trim(), role: "group", "aria-label": title },
    element("details", { class: "predict" },
      element("summary", {}, element("b", {}, predict), ` ${question}`), element("p", {}, answer)),
    element("div", { class: "scene", ...attributes }, ...body),
    element("div", { class: "foot" }, element("output", { class: "report" }, ...report)),
    element("details", { class: "numbers" },
      element("summary", {}, numbers), element("div", { class: "tables" }, ...tables)),
  );
}

// An explorer is these functions, none of which has a side effect:
//   compute(state)                   the numbers
//   draw(state, now, width)          `{ body, report, tables }`, lists of data; the body has a picture
//   controls(state, now)             see `panel`
//   pull(state, width, x, y, held)   the traits that a hand in the picture sets, if it sets any
//   hold(state, width, x, y)         what the hand holds, or null; `fingers`: see `drag`
// `state` has the synchronised traits of the Python class, by name; `width` is that of the picture.
export function explorer({ compute, draw, controls, pull, hold = () => true, fingers, width = 640 }) {
  // Wider than a phone: it scrolls in its own box, which a keyboard can reach.
  const still = state => frame(state, draw(state, compute(state), width), "still", { tabindex: 0 });

  // `link`: what links call the figure, on a page that has an address.
  function render({ model, el, link }) {
    const moves = model.get("moves");
    const pick = names => Object.fromEntries(names.map(name => [name, model.get(name)]));
    const read = () => pick([...moves, ...model.get("fixed")]);
    const start = pick(moves);
    const first = read();
    const { words } = first;
    let room = width;

    const figure = make(frame(first, draw(first, compute(first), room), ""));
    const [body, report, tables, foot] = [".scene", ".report", ".tables", ".foot"].map(part => figure.querySelector(part));
    const { parts, show: showControls } = panel(controls(first, compute(first)), write);
    body.after(...parts);
    const ways = make(element("div", { class: "ways" }));
    ways.append(button(words.again, () => write(start)));
    foot.append(ways);
    const links = link && linked({ name: link, words, start, read, set: setByLink });
    if (links) ways.append(links.copy);

    let isWriting = false; // several traits are one change
    function write(traits) {
      isWriting = true;
      for (const [name, value] of Object.entries(traits)) model.set(name, value);
      isWriting = false;
      model.save_changes();
      show();
    }

    function show() {
      if (isWriting) return;
      const state = read();
      const now = compute(state);
      const seen = draw(state, now, room);
      fill(body, seen.body);
      fill(report, seen.report);
      fill(tables, seen.tables);
      squeeze(body);
      showControls(controls(state, now));
      links?.moved();
    }

    function setByLink(traits) {
      if (!canShow({ ...read(), ...traits })) return;
      write(traits);
      figure.scrollIntoView({ block: "nearest" });
    }

    function canShow(state) {
      try {
        const now = compute(state);
        draw(state, now, room);
        return isInReach(controls(state, now));
      } catch {
        return false;
      }
    }

    const drawing = figure.querySelector(".picture");
    let held = null;
    function onHand(x, y, starts) {
      if (starts) held = hold(read(), room, x, y);
      const isOnlyTouched = starts && fingers === "at once"; // to touch a grip off its middle is not to move it
      if (held !== null && !isOnlyTouched) write(pull(read(), room, x, y, held));
    }
    if (pull) drag(drawing, onHand, fingers);

    // Drawn in the pixels that are there, so that letters keep their size on a phone.
    const size = new ResizeObserver(([entry]) => {
      room = Math.max(240, Math.round(entry.contentRect.width));
      show();
    });
    const watched = moves.map(name => `change:${name}`);
    for (const event of watched) model.on(event, show);
    el.replaceChildren(figure);
    show();
    size.observe(drawing);
    links?.start();
    return () => {
      size.disconnect();
      links?.forget();
      for (const event of watched) model.off(event, show);
    };
  }

  return { still, render };
}
