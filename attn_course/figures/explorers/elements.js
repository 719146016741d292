// Elements of data, in the browser.

export function make(node, parent) {
  if (typeof node === "string") return document.createTextNode(node);
  const isDrawing = node[0] === "svg" || parent?.namespaceURI.endsWith("svg");
  const space = isDrawing ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const made = document.createElementNS(space, node[0]);
  dress(made, node[1]);
  fill(made, node[2]);
  return made;
}

function dress(place, attributes) {
  for (const name of place.getAttributeNames()) if (!(name in attributes)) place.removeAttribute(name);
  for (const [name, text] of Object.entries(attributes)) {
    if (place.getAttribute(name) !== text) place.setAttribute(name, text);
  }
}

// Makes the children of `parent` what `nodes` say. Elements that are there already are kept: a
// finger that moves one would lose it otherwise.
export function fill(parent, nodes) {
  nodes.forEach((node, i) => {
    const old = parent.childNodes[i];
    const isText = typeof node === "string";
    if (!old) parent.append(make(node, parent));
    else if (isText ? old.nodeType !== Node.TEXT_NODE : old.localName !== node[0]) old.replaceWith(make(node, parent));
    else if (isText) old.data = node;
    else {
      dress(old, node[1]);
      fill(old, node[2]);
    }
  });
  while (parent.childNodes.length > nodes.length) parent.lastChild.remove();
}

// Makes words narrower that have too little room; only a browser knows how long a word is.
export function squeeze(drawing) {
  for (const word of drawing.querySelectorAll("[data-room]")) {
    if (word.getComputedTextLength() <= Number(word.dataset.room)) continue;
    word.setAttribute("textLength", word.dataset.room);
    word.setAttribute("lengthAdjust", "spacingAndGlyphs");
  }
}
