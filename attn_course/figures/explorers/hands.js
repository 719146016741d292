// A mouse or a finger that moves something in a picture.

// A finger this far from where it came down, in pixels, is on its way.
const ON_ITS_WAY = 5;

// Calls `onMove(x, y, starts)`, in the picture's pixels, while a mouse or a finger holds it.
// A finger that comes down may be about to scroll the page. So `fingers` that move "sideways", or
// only tap, hold the picture; others do "at once" where they come down on a grip, or "never".
export function drag(drawing, onMove, fingers = "sideways") {
  let undecided = null; // where a finger came down that may yet scroll the page
  const tell = (event, starts) => {
    const { left, top } = drawing.getBoundingClientRect();
    onMove(event.clientX - left, event.clientY - top, starts);
  };
  // Or the page would scroll and the grip be let go; style sheets can't say so inside a picture.
  drawing.addEventListener("touchstart", event => {
    if (event.target.classList.contains("grip") && event.cancelable) event.preventDefault();
  }, { passive: false });
  drawing.addEventListener("pointerdown", event => {
    const isFinger = event.pointerType === "touch";
    if (event.button !== 0 || !event.isPrimary || (isFinger && fingers === "never")) return;
    drawing.setPointerCapture(event.pointerId);
    undecided = isFinger && fingers === "sideways" ? event : null;
    if (!undecided) tell(event, true);
  });
  drawing.addEventListener("pointermove", event => {
    if (!drawing.hasPointerCapture(event.pointerId)) return;
    if (undecided) {
      const across = Math.abs(event.clientX - undecided.clientX);
      const along = Math.abs(event.clientY - undecided.clientY);
      if (across < ON_ITS_WAY || across <= along) return;
    }
    tell(event, Boolean(undecided));
    undecided = null;
  });
  drawing.addEventListener("pointerup", event => {
    if (undecided) tell(event, true); // a tap
    undecided = null;
  });
  drawing.addEventListener("pointercancel", () => (undecided = null)); // the page scrolls
}
