// A page opened from file:// may not fetch other pages, and the excerpts under search
// results are cut out of those pages. Without them the results are the same, only shorter.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
