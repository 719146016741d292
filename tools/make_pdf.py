"""Print the built book as one PDF: `python -m tools.make_pdf _build/html _build/attention.pdf`.

Chromium prints each page, in the order of the table of contents, and pypdf joins them. A bookmark
leads to every page, and a link from one page to another becomes a link inside the file. For that
each page is printed with an invisible link to every place that other pages point to, because
Chromium notes where a place is only if something on the same page points to it. Chromium counts
the sheets of each page from 1, so the numbers of the sheets are printed at the end, all at once,
and laid over the joined file.
"""

import argparse
import io
import sys
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urldefrag

import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import Fit
from tqdm import tqdm

from tools import chromium

BOOK = Path(__file__).resolve().parents[1] / "book"
MARGINS = {"top": "18mm", "bottom": "18mm", "left": "17mm", "right": "17mm"}
FOOTER = (
    '<div style="font-size: 8px; width: 100%; text-align: center; color: #666">'
    '<span class="title"></span></div>'
)
SHEET = (
    '<div style="position: relative; height: 297mm; break-after: page">'
    '<span style="position: absolute; right: 17mm; bottom: 7.5mm; font: 8px sans-serif">'
    "{}</span></div>"
)
# Everything drawn: pictures far below are loaded late, and formulas are drawn by a script. Paper
# can't be unfolded, so answers are printed.
READY = """async () => {
  document.querySelectorAll("img[loading=lazy]").forEach(image => image.loading = "eager");
  for (const fold of document.querySelectorAll("details.sd-dropdown"))
    fold.open ||= fold.querySelector("summary").textContent.trim().startsWith("Answer");
  await Promise.all([...document.images].map(image => image.decode().catch(() => {})));
  if (window.MathJax?.startup?.promise) await MathJax.startup.promise;
  await document.fonts.ready;
}"""
TARGETS = """all => [...new Set(all.map(one => one.getAttribute("href")))]
  .map(link => new URL(link, document.baseURI).href).filter(link => link.includes("#"))"""
POINT_AT = """names => {
  const box = document.createElement("div");
  box.style.cssText = "position: absolute; top: 0; font-size: 1px; color: transparent";
  for (const name of names) {
    if (!document.getElementById(name)) continue;
    const link = document.createElement("a");
    link.href = "#" + name;
    link.textContent = ".";
    link.style.color = "transparent";
    box.append(link);
  }
  document.querySelector(".bd-article").prepend(box);
}"""


def main(arguments=None):
    """Print the book, or say what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("html", type=Path, help="the folder of the built book")
    parser.add_argument("pdf", type=Path, help="the file to write")
    given = parser.parse_args(arguments)
    program = chromium.find()
    if program is None:
        return _fail("this needs Chromium (on Debian: apt install chromium)")
    if not (given.html / "index.html").is_file():
        return _fail(f"there is no built book in {given.html}: run `make book` first")
    chapters = table_of_contents(yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8")))
    names = [name for _, name in chapters]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=chromium.FLAGS)
        printed = print_pages(browser, given.html.resolve(), names)
        book = joined(chapters, printed, given.html.resolve())
        number_sheets(browser, book)
        browser.close()
    book.write(given.pdf)
    pages = len(PdfReader(given.pdf).pages)
    print(f"The book has {pages} pages: {given.pdf}")
    return 0


def _fail(sentence):
    print(f"pdf: {sentence}", file=sys.stderr)
    return 1


def table_of_contents(toc):
    """Return the pages in reading order, as (depth, name); what is said is the toc's own order."""
    chapters = [(0, toc["root"])]
    for part in toc["parts"]:
        chapters += _listed(part["chapters"], 0)
    return chapters


def _listed(entries, depth):
    for entry in entries:
        yield depth, entry["file"]
        yield from _listed(entry.get("sections", []), depth + 1)


def print_pages(browser, html, names):
    """Return each page's name with its title and its PDF."""
    context = browser.new_context(color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    wanted = places_linked_to(page, html, names)
    printed = {}
    for name in tqdm(names, desc="pages printed", disable=None):
        page.goto((html / f"{name}.html").as_uri())
        page.evaluate(READY)
        page.evaluate(POINT_AT, sorted(wanted.get(name, ())))
        title = page.locator(".bd-article h1").first.inner_text().removesuffix("#").strip()
        content = page.pdf(
            format="A4",
            margin=MARGINS,
            print_background=True,
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOTER,
        )
        printed[name] = (title, content)
    context.close()
    return printed


def places_linked_to(page, html, names):
    """Return, for each page, the places on it that some page of the book points to."""
    wanted = {}
    for name in names:
        page.goto((html / f"{name}.html").as_uri(), wait_until="domcontentloaded")
        for link in page.locator(".bd-article a[href]").evaluate_all(TARGETS):
            target, place = urldefrag(link)
            wanted.setdefault(_page_of(target, html), set()).add(unquote(place))
    return wanted


def _page_of(address, html):
    """Return the name of the page of the book at this address, or None."""
    start, end = html.as_uri() + "/", ".html"
    if not (address.startswith(start) and address.endswith(end)):
        return None
    return unquote(address.removeprefix(start).removesuffix(end))


def joined(chapters, printed, html):
    """Return one file of all pages, with bookmarks and links that stay in it."""
    writer = PdfWriter()
    first, places, above, owners = {}, {}, {}, []
    for depth, name in chapters:
        title, content = printed[name]
        reader = PdfReader(io.BytesIO(content))
        first[name] = len(writer.pages)
        writer.append(reader, import_outline=False)
        owners += [name] * len(reader.pages)
        above[depth] = writer.add_outline_item(
            title=title, page_number=first[name], parent=above.get(depth - 1)
        )
        for place, destination in reader.named_destinations.items():
            number = first[name] + reader.get_destination_page_number(destination)
            places[name, unquote(place.removeprefix("/"))] = (number, destination.top)
    writer.add_metadata({"/Title": printed[chapters[0][1]][0]})
    for number, name in enumerate(owners):
        targets = partial(_target, name=name, html=html)
        turn_links_inward(writer, number, targets, places, first)
    return writer


def number_sheets(browser, book):
    """Lay its number over the foot of each sheet of the joined file."""
    page = browser.new_page()
    count = len(book.pages)
    sheets = "".join(SHEET.format(number) for number in range(1, count + 1))
    page.set_content(f'<!doctype html><body style="margin: 0">{sheets}')
    numbers = PdfReader(io.BytesIO(page.pdf(format="A4")))
    page.close()
    for sheet, number in zip(book.pages, numbers.pages[:count], strict=True):
        sheet.merge_page(number)


def _target(link, name, html):
    """Return (page, place) for a link on the page `name`; the page is None outside the book."""
    if "/Dest" in link:  # a place on the same page, which another page may call by the same name
        return name, unquote(str(link["/Dest"]).removeprefix("/"))
    address, place = urldefrag(str(link.get("/A", {}).get("/URI", "")))
    return _page_of(address, html), unquote(place)


def turn_links_inward(writer, number, target_of, places, first):
    """Let each link on page `number` that leads into the book lead to its place in the file."""
    annotations = writer.pages[number].get("/Annots", [])
    outward = []
    inward = []
    for annotation in annotations:
        link = annotation.get_object()
        name, place = target_of(link)
        if name in first:
            inward.append((link["/Rect"], places.get((name, place), (first[name], None))))
        else:
            outward.append(annotation)
    annotations.clear()
    annotations.extend(outward)
    for rect, (page, top) in inward:
        fit = Fit.fit() if top is None else Fit.xyz(top=top)
        link = Link(rect=rect, target_page_index=page, fit=fit)
        writer.add_annotation(page_number=number, annotation=link)


if __name__ == "__main__":
    sys.exit(main())
