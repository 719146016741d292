// Links that set a figure: `#softmax?temperature=2&mask=1,1,0` sets the first softmax explorer of a
// page, `#softmax-2?…` the second. Lists have commas, true and false are 1 and 0. What a link does
// not name is as at the start, so that the same link always shows the same figure.
import { button } from "./controls.js";

function inLink(value) {
  if (Array.isArray(value)) return value.map(inLink).join(",");
  return encodeURIComponent(typeof value === "boolean" ? Number(value) : value);
}

// The value of a link, of the same kind as `like`; undefined where it is none.
function fromLink(text, like) {
  if (Array.isArray(like)) {
    const entries = text.split(",").map((entry, i) => fromLink(entry, like[i]));
    return entries.length === like.length && !entries.includes(undefined) ? entries : undefined;
  }
  if (typeof like === "boolean") return { 1: true, 0: false }[text];
  if (typeof like !== "number") return text;
  return text.trim() && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

function readLink(hash, name, start) {
  const [target, query] = [hash.slice(1).split("?", 1)[0], hash.slice(hash.indexOf("?") + 1)];
  if (!hash.includes("?") || target !== name) return null;
  const read = [...new URLSearchParams(query)].map(([trait, text]) => [trait, fromLink(text, start[trait])]);
  const isSound = read.every(([trait, value]) => Object.hasOwn(start, trait) && value !== undefined);
  return isSound ? Object.fromEntries(read) : null;
}

function linkTo(name, start, state) {
  const moved = Object.keys(start).filter(trait => inLink(start[trait]) !== inLink(state[trait]));
  return `#${name}?${moved.map(trait => `${trait}=${inLink(state[trait])}`).join("&")}`;
}

// Lets links set the figure: `set(traits)` is called with what a link says. Returns a button that
// copies the link to `read()`, what the figure shows, and `forget`, which stops listening.
export function linked({ name, words, start, read, set }) {
  const copy = button(words.copy, async () => {
    const address = `${location.href.split("#")[0]}${linkTo(name, start, read())}`;
    history.replaceState(null, "", address); // for those whose browser lets no page copy
    const isCopied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
    copy.replaceChildren(isCopied ? words.copied : words.in_address);
  });
  copy.setAttribute("aria-live", "polite");
  const follow = hash => {
    const traits = readLink(hash, name, start);
    if (traits) set({ ...start, ...traits });
  };
  const onHash = () => follow(location.hash);
  // The same link again changes no hash, but it may well change the figure.
  const onClick = event => follow(event.target.closest("a[href^='#']")?.hash ?? "");
  window.addEventListener("hashchange", onHash);
  document.addEventListener("click", onClick);
  return {
    copy,
    start: onHash,
    moved: () => copy.replaceChildren(words.copy),
    forget() {
      window.removeEventListener("hashchange", onHash);
      document.removeEventListener("click", onClick);
    },
  };
}
