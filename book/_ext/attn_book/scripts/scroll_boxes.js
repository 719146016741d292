// Formulas, tables, code and outputs that are wider than the page scroll inside a box of
// their own. Whoever has only a keyboard can reach such a box when it is focusable; a box
// that does not scroll must not be, or Tab would stop at every formula.
const SCROLL_BOXES =
  "div.math mjx-container, span.math.wide, .pst-scrollable-table-container, .scroll-box, pre, .cell_output div";

const WIDE = 500; // pixels of the picture itself
const READABLE = 10; // pixels that letters should have

// Most figures have a second picture for phones (attn_book.phone_figures). One that has none keeps
// its width on a phone and scrolls, so that its letters can be read (book.css).
function boxWidePictures() {
  for (const image of document.querySelectorAll(".bd-article :is(figure, .cell_output) img[src$='.png']")) {
    const picture = image.closest("picture") ?? image;
    if (picture.querySelector("source") || image.naturalWidth <= WIDE) continue;
    const letters = picture.dataset.letters; // as a part of the picture's width
    if (letters) image.style.setProperty("--readable", `${Math.ceil(READABLE / letters)}px`);
    const box = document.createElement("div");
    box.className = "scroll-box";
    picture.replaceWith(box);
    box.append(picture);
  }
}

function widenInlineFormulas() {
  for (const formula of document.querySelectorAll("span.math")) {
    const svg = formula.querySelector("svg");
    const column = formula.closest("p, li, dd, td, th, figcaption") ?? formula.parentElement;
    formula.classList.toggle("wide", Boolean(svg) && svg.clientWidth > column.clientWidth);
  }
}

function markScrollBoxes() {
  widenInlineFormulas();
  for (const box of document.querySelectorAll(SCROLL_BOXES)) {
    const tooWide = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (tooWide && /auto|scroll/.test(getComputedStyle(box).overflowX)) {
      box.setAttribute("tabindex", "0");
      box.dataset.scrolls = "";
    } else if ("scrolls" in box.dataset) {
      box.removeAttribute("tabindex");
      delete box.dataset.scrolls;
    }
  }
}

window.addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  boxWidePictures();
  markScrollBoxes();
  window.addEventListener("resize", markScrollBoxes);
});
