"""The class report as one HTML page: it needs no network and no script, and escapes every word.

`class_statistics` has the numbers, `similarity` the pairs. Charts are SVG in the page, with titles,
and every chart's numbers are in a table or a sentence too. Light and dark follow the reader's
system; below the width of a phone, columns are stacked and tables scroll in their own box.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from attn_course.grading.class_statistics import (
    LEAST_LEARNERS,
    Blank,
    ChapterFacts,
    ClassStatistics,
    Item,
    Shared,
)
from attn_course.grading.fingerprints import GRAM
from attn_course.grading.report_options import ReportOptions
from attn_course.grading.similarity import (
    FEW_SHARED,
    LEAST_SHARE,
    LEAST_SHARED,
    NEARLY_ALL,
    SEVERAL,
    Overlap,
    Pair,
    Place,
    commonest,
)
from attn_course.practice.feedback import inline
from attn_course.practice.markup import Markup, fill, join
from attn_course.translate import _

_TOMORROW = 5  # mistakes at the top of the page
_MOST_MISTAKES, _MOST_OBSERVATIONS, _MOST_PAIRS, _MOST_BLANKS = 60, 30, 25, 200
_MOST_OPEN = 3  # chapters whose table is not folded
_MOST_CELLS, _MOST_LINES = 3, 60  # of a pair's code
_BINS = 10

_STYLE = """
:root { --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --plate: #f6f8fa; --bar: #2f6fb0;
  --rest: #d8e3ee; --mark: #fff1c2; --link: #0969da; --page: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9aa5b1; --line: #3a424c;
  --plate: #161b22; --bar: #6ea8dc; --rest: #2b3642; --mark: #4a3d12; --link: #6cb6ff;
  --page: #0d1117; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  color: var(--text); background: var(--page); max-width: 62rem; margin: 0 auto;
  padding: 1.5rem 1rem 4rem; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 0.2rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 0.4rem; padding-bottom: 0.2rem;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.4rem 0 0.4rem; }
p { margin: 0.4rem 0; } .soft { color: var(--soft); } .small { font-size: 0.875rem; }
a { color: var(--link); } code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
code { font-size: 0.9em; } nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap;
  gap: 0.2rem 1.1rem; margin: 0.8rem 0; }
.box { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; margin: 0.6rem 0; }
.box:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; width: 100%; font-size: 0.875rem; }
th, td { text-align: left; padding: 0.4rem 0.7rem; border-top: 1px solid var(--line);
  vertical-align: top; }
thead th, thead td { border-top: 0; background: var(--plate); white-space: nowrap; }
td svg { margin-top: 0.3rem; }
tbody th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.group th { font-weight: 400; padding-left: 1.7rem; } tr.group { color: var(--soft); }
ol.ranked { list-style: none; margin: 0.6rem 0; padding: 0; }
ol.ranked > li { padding: 0.7rem 0; border-top: 1px solid var(--line); }
ol.ranked > li:first-child { border-top: 0; }
.count { font-weight: 600; } .head { display: flex; flex-wrap: wrap; gap: 0 0.6rem;
  align-items: baseline; }
svg { display: block; max-width: 100%; }
.chart svg { width: 100%; height: auto; } svg text { fill: var(--soft); }
.bar { fill: var(--bar); } .rest { fill: var(--rest); } .axis { stroke: var(--line); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr));
  gap: 0.8rem 1.4rem; margin: 0.8rem 0; align-items: end; }
.chart h3 { margin: 0; font-size: 0.95rem; }
details { margin: 0.3rem 0; } summary { cursor: pointer; }
summary h3 { display: inline-block; margin: 0.5rem 0; }
.pair { border: 1px solid var(--line); border-radius: 6px; padding: 0.6rem 0.9rem;
  margin: 0.8rem 0; } .pair h3 { margin: 0; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 0.8rem; margin: 0.5rem 0 1rem; }
.side { min-width: 0; } .side > p { margin: 0; }
pre { font-size: 0.78rem; line-height: 1.45; margin: 0.2rem 0; padding: 0.5rem 0;
  background: var(--plate); border-radius: 4px; overflow-x: auto; }
pre span { display: block; min-width: max-content; padding: 0 0.6rem; border-left: 3px solid
  transparent; } pre span.same { background: var(--mark); border-left-color: #b8860b; }
@media (max-width: 44rem) { .sides { grid-template-columns: 1fr; } body { padding-top: 1rem; } }
@media print { body { max-width: none; } .box { overflow: visible; } }
"""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>$title</title>
<style>$style</style></head>
<body><header><h1>$title</h1>
<p class="soft">$about</p>
<nav aria-label="$contents"><ul>$links</ul></nav></header>
<main>
$inside
</main>
</body></html>
"""
_DEFAULTS = ReportOptions()

Sources = Mapping[tuple[str, str, int], str]  # the code of a cell, by learner, chapter and number


@dataclass(frozen=True)
class Alike:
    """Who looks alike, with the code of the cells to show; or why that is not known."""

    pairs: Sequence[Pair] = ()
    sources: Sources = field(default_factory=dict)
    learners: int = 0
    why_not: str = ""
    notes: tuple[str, ...] = ()


def page(
    facts: ClassStatistics, alike: Alike, day: str, options: ReportOptions = _DEFAULTS
) -> Markup:
    """Return the report as a whole HTML page."""
    sections = {
        "tomorrow": (_("What to talk about tomorrow"), _tomorrow(facts, options)),
        "points": (_("Points"), _points(facts)),
        "exercises": (_("Exercises: how hard, how telling"), _exercises(facts)),
        "mistakes": (_("Mistakes that learners share"), _mistakes(facts, options)),
        "observations": (_("Observed where no mistake is known"), _observations(facts)),
        "alike": (_("Learners who look alike"), _alike(alike)),
        "time": (_("Time used for grading"), _times(facts)),
        "blanks": (_("Not judged, and why"), _blanks(facts.blanks)),
    }
    inside = join(
        (
            fill('<section id="$id"><h2>$head</h2>$body</section>', id=name, head=head, body=body)
            for name, (head, body) in sections.items()
        ),
        between="\n",
    )
    links = join(
        fill('<li><a href="#$id">$head</a></li>', id=name, head=head)
        for name, (head, _body) in sections.items()
    )
    about = _("{learners} learners, {notebooks} notebooks of {chapters} chapters · {day}").format(
        learners=facts.learners,
        notebooks=sum(one.notebooks for one in facts.chapters),
        chapters=len(facts.chapters),
        day=day,
    )
    return fill(
        _PAGE,
        title=_("Class report"),
        style=Markup(_STYLE),
        about=about,
        contents=_("Contents"),
        links=links,
        inside=inside,
    )


# --- mistakes --------------------------------------------------------------------------------


def _tomorrow(facts: ClassStatistics, options: ReportOptions) -> Markup:
    if not facts.mistakes:
        return _paragraph(_("No mistake that has a name was made."))
    rows = join(
        fill(
            "<li>$sentence $read</li>",
            sentence=sentence_of(one),
            read=_to_read(one, options),
        )
        for one in facts.mistakes[:_TOMORROW]
    )
    return fill("<ol>$rows</ol>", rows=rows)


def sentence_of(one: Shared) -> str:
    """Say how many share a mistake: "17 of 60 made this mistake in 03.softmax: …"."""
    words = _("{count} of {answered} in {id}: {name}.")
    return words.format(
        count=len(one.learners),
        answered=one.answered,
        id=one.exercise,
        name=one.readable or one.message.rstrip("."),
    )


def reading_of(one: Shared) -> str:
    """Say what to read: the number of the page, and its section."""
    number = one.section_page.partition("_")[0] or one.exercise.partition(".")[0]
    return _("Read {number}, “{section}”.").format(number=number, section=one.section)


def _to_read(one: Shared, options: ReportOptions) -> Markup:
    words, address = reading_of(one), options.address(one.section_page, one.section_label)
    if not address:
        return fill("$words", words=words)
    return fill('<a href="$address">$words</a>', address=address, words=words)


def _mistakes(facts: ClassStatistics, options: ReportOptions) -> Markup:
    if not facts.mistakes:
        return _paragraph(_("No mistake that has a name was made."))
    about = _(
        "The share is of those who wrote something for the exercise. A mistake counts too where "
        "the check could only guess it, and told the learner “Perhaps”. To write one comment for "
        "everyone who made a mistake: attn-course comment EXERCISE MISTAKE “…”."
    )
    return join([_soft(about), _ranked(facts.mistakes, _MOST_MISTAKES, options)])


def _observations(facts: ClassStatistics) -> Markup:
    if not facts.observations:
        return _paragraph(_("Nothing was observed."))
    about = _(
        "These answers are wrong in a way that has no name. The sentences are facts about what the "
        "answers returned. One that many share may deserve a name."
    )
    return join([_soft(about), _ranked(facts.observations, _MOST_OBSERVATIONS, None)])


def _ranked(several: Sequence[Shared], most: int, options: ReportOptions | None) -> Markup:
    rows = [_ranked_row(one, options) for one in several[:most]]
    left = len(several) - len(rows)
    more = [_soft(_("… and {count} more in the table.").format(count=left))] if left > 0 else []
    return join([fill('<ol class="ranked">$rows</ol>', rows=join(rows)), *more])


def _ranked_row(one: Shared, options: ReportOptions | None) -> Markup:
    count = _("{count} of {answered}").format(count=len(one.learners), answered=one.answered)
    head = fill(
        '<div class="head"><span class="count">$count</span><span>$name</span>'
        '<code class="soft">$id</code></div>',
        count=count,
        name=one.readable or inline(one.message),
        id=one.exercise,
    )
    parts = [head, _share_bar(len(one.learners), one.answered, count)]
    if one.name:
        parts.append(fill('<p class="small">$text</p>', text=inline(one.message)))
    if options is not None:
        parts.append(fill('<p class="small">$read</p>', read=_to_read(one, options)))
    names = join((fill("<bdi>$name</bdi>", name=name) for name in one.learners), between=", ")
    parts.append(_folded(_("Who"), fill("<p>$names</p>", names=names)))
    return fill("<li>$inside</li>", inside=join(parts))


def _share_bar(count: int, of: int, words: str) -> Markup:
    width = 100 * min(count / of, 1) if of else 0
    return fill(
        '<svg viewBox="0 0 100 2" preserveAspectRatio="none" width="100%" height="6" role="img" '
        'aria-label="$words"><title>$words</title><rect class="rest" width="100" height="2"/>'
        '<rect class="bar" width="$width" height="2"/></svg>',
        words=words,
        width=f"{width:.1f}",
    )


# --- points and exercises --------------------------------------------------------------------


def _points(facts: ClassStatistics) -> Markup:
    charts = join(_chart(one) for one in facts.chapters if one.percents)
    head = [_("chapter"), _("notebooks"), _("with points"), _("mean"), _("median"), _("lowest")]
    rows = [
        [
            _name_of(one),
            str(one.notebooks),
            str(len(one.percents)),
            *(
                [_percent(mean(one.percents)), _percent(median(one.percents))]
                if one.percents
                else ["–", "–"]
            ),
            _percent(min(one.percents)) if one.percents else "–",
        ]
        for one in facts.chapters
    ]
    parts = [
        fill('<div class="charts">$charts</div>', charts=charts),
        _table(_("Points by chapter"), head, rows, first_number=1),
    ]
    if facts.overrides:
        words = _("Answers whose points an instructor has set, and which count as set: {count}.")
        parts.append(_soft(words.format(count=facts.overrides)))
    return join(parts)


def _name_of(one: ChapterFacts) -> str:
    number = one.chapter.partition("_")[0]
    return f"{number} {one.title}" if one.title else one.chapter


def _chart(one: ChapterFacts) -> Markup:
    """Return a histogram of the shares of the points, in ten columns."""
    counts = [0] * _BINS
    for percent in one.percents:
        counts[min(int(percent * _BINS / 100), _BINS - 1)] += 1
    highest = max(counts)
    width, height, floor = 280, 132, 104
    columns = []
    for place, count in enumerate(counts):
        tall = 84 * count / highest
        low, high = 100 * place // _BINS, 100 * (place + 1) // _BINS
        columns.append(
            fill(
                '<g><title>$words</title><rect class="bar" x="$x" y="$y" width="24" '
                'height="$tall"/>$label</g>',
                words=_("{low} to {high} %: {count} notebooks").format(
                    low=low, high=high, count=count
                ),
                x=place * 28 + 2,
                y=f"{floor - tall:.1f}",
                tall=f"{tall:.1f}",
                label=fill(
                    '<text x="$x" y="$y" font-size="11" text-anchor="middle">$count</text>',
                    x=place * 28 + 14,
                    y=f"{floor - tall - 4:.1f}",
                    count=count,
                )
                if count
                else "",
            )
        )
    ticks = join(
        fill(
            '<text x="$x" y="120" font-size="11" text-anchor="$anchor">$words</text>',
            x=x,
            anchor=anchor,
            words=words,
        )
        for x, anchor, words in (
            (2, "start", "0 %"),
            (140, "middle", "50 %"),
            (278, "end", "100 %"),
        )
    )
    title = _("How many notebooks have which share of the points of {chapter}").format(
        chapter=one.chapter
    )
    return fill(
        '<div class="chart"><h3>$name</h3><svg viewBox="0 0 $width $height" role="img" '
        'aria-label="$title"><title>$title</title>$columns'
        '<line class="axis" x1="0" x2="$width" y1="$floor" y2="$floor"/>$ticks</svg></div>',
        name=_name_of(one),
        width=width,
        height=height,
        floor=floor,
        title=title,
        columns=join(columns),
        ticks=ticks,
    )


def _exercises(facts: ClassStatistics) -> Markup:
    about = _(
        "The mean share of the points says how hard an exercise is. How telling it is, is the "
        "correlation of its points with those of the rest of the notebook, in words where at least "
        "{least} learners were judged. Indented rows are groups of cases."
    ).format(least=LEAST_LEARNERS)
    parts = [_soft(about)]
    for chapter in facts.chapters:
        items = [one for one in facts.items if one.chapter == chapter.chapter]
        if items:
            is_open = Markup(" open") if len(facts.chapters) <= _MOST_OPEN else ""
            parts.append(
                fill(
                    "<details$open><summary><h3>$name</h3></summary>$table</details>",
                    open=is_open,
                    name=_name_of(chapter),
                    table=_item_table(chapter, items),
                )
            )
    return join(parts)


def _item_table(chapter: ChapterFacts, items: Iterable[Item]) -> Markup:
    head = [_("exercise"), _("mean share"), "", _("all points"), _("how telling"), ""]
    rows = join(_item_row(one) for one in items)
    return _boxed(
        _("Exercises of {chapter}").format(chapter=chapter.chapter),
        fill(
            "<table><thead><tr>$head</tr></thead><tbody>$rows</tbody></table>",
            head=join(_head_cell(word, place in (1, 3)) for place, word in enumerate(head)),
            rows=rows,
        ),
    )


def _item_row(one: Item) -> Markup:
    share = "–" if one.difficulty is None else _percent(100 * one.difficulty)
    named = fill("$title <code>$id</code>", title=one.title, id=one.exercise)
    value = "" if one.discrimination is None else f"{one.discrimination:+.2f}".replace("-", "−")
    return fill(
        '<tr$kind><th scope="row">$name</th><td class="number">$share</td>'
        '<td style="min-width:5rem">$bar</td><td class="number">$right</td>'
        '<td>$words</td><td class="number">$value</td></tr>',
        kind=Markup(' class="group"') if one.label else "",
        name=one.label or named,
        share=share,
        bar=_small_bar(one.difficulty, share),
        right=_("{right} of {judged}").format(right=one.right, judged=one.judged),
        words="" if one.label and one.discrimination is None else one.words,
        value=value,
    )


def _small_bar(share: float | None, words: str) -> Markup:
    return fill(
        '<svg viewBox="0 0 80 10" width="80" height="10" role="img" aria-label="$words">'
        '<title>$words</title><rect class="rest" width="80" height="10" rx="2"/>'
        '<rect class="bar" width="$width" height="10" rx="2"/></svg>',
        words=words,
        width=f"{80 * (share or 0):.1f}",
    )


# --- learners who look alike -----------------------------------------------------------------


def _alike(alike: Alike) -> Markup:
    if alike.why_not:
        return _paragraph(alike.why_not)
    hint = _(
        "This is a hint and not a verdict. Two learners may have worked together as you allowed, "
        "or read the same page. Look at the code before you speak to anyone."
    )
    rule = _(
        "How it is found: names, comments and layout are taken out, then the handed-out code, the "
        "course's own right answers, and every passage that more than {most} learners share. A "
        "pair is shown if the two then have at least {shared} fingerprints in common, and if these "
        "are at least {share} of what the shorter notebook has, in one chapter or in all "
        "together. If they share {nearly} or more, in {several} chapters at least, {few} "
        "fingerprints are enough. A fingerprint is a passage of {gram} words and signs. A short "
        "answer alone therefore never makes a pair, and who rewrites every line is not found."
    ).format(
        most=commonest(alike.learners),
        share=_percent(100 * LEAST_SHARE),
        shared=LEAST_SHARED,
        nearly=_percent(100 * NEARLY_ALL),
        several=SEVERAL,
        few=FEW_SHARED,
        gram=GRAM,
    )
    parts = [fill("<p><strong>$hint</strong></p>", hint=hint), _soft(rule)]
    parts += [_soft(note) for note in alike.notes]
    if not alike.pairs:
        return join([*parts, _paragraph(_("No two learners look alike."))])
    parts += [_pair(one, alike.sources) for one in alike.pairs[:_MOST_PAIRS]]
    left = len(alike.pairs) - _MOST_PAIRS
    if left > 0:
        parts.append(_soft(_("… and {count} more in the table.").format(count=left)))
    return join(parts)


def _pair(pair: Pair, sources: Sources) -> Markup:
    one, other = pair.learners
    said = _("{share} of the shorter one's own code, {shared} fingerprints: {chapters}")
    chapters = ", ".join(
        f"{overlap.chapter} {_percent(100 * overlap.share)}" for overlap in pair.overlaps
    )
    sides = [_sides(pair, overlap, sources) for overlap in pair.overlaps[:1]]
    return fill(
        '<div class="pair"><h3><bdi>$one</bdi> $and_ <bdi>$other</bdi></h3>'
        '<p class="soft small">$said</p>$folded</div>',
        one=one,
        and_=_("and"),
        other=other,
        said=said.format(share=_percent(100 * pair.share), shared=pair.shared, chapters=chapters),
        folded=_folded(
            _("Side by side: {chapter}").format(chapter=pair.overlaps[0].chapter), join(sides)
        ),
    )


def _sides(pair: Pair, overlap: Overlap, sources: Sources) -> Markup:
    """Return the cells with most in common side by side, with what is the same marked."""
    rows = []
    for (first, second), _count in overlap.cells()[:_MOST_CELLS]:
        both = [
            _side(learner, number, places, sources.get((learner, overlap.chapter, number), ""))
            for learner, number, places in zip(
                pair.learners, (first, second), overlap.places, strict=True
            )
        ]
        rows.append(fill('<div class="sides">$both</div>', both=join(both)))
    return join(rows)


def _side(learner: str, number: int, places: Sequence[Place], source: str) -> Markup:
    same = {
        line
        for place in places
        if place.cell == number
        for line in range(place.first, place.last + 1)
    }
    lines = source.splitlines()[:_MOST_LINES]
    shown = join(
        fill(
            "<span$same>$line</span>",
            same=Markup(' class="same"') if place in same else "",
            line=line or " ",
        )
        for place, line in enumerate(lines, start=1)
    )
    label = _("cell {number} of {learner}").format(number=number, learner=learner)
    return fill(
        '<div class="side"><p class="small soft"><bdi>$learner</bdi></p>'
        '<pre tabindex="0" role="region" aria-label="$label">$shown</pre></div>',
        learner=label,
        label=label,
        shown=shown,
    )


# --- time, and what is not known -------------------------------------------------------------


def _times(facts: ClassStatistics) -> Markup:
    head = [_("chapter"), _("all"), _("median"), _("slowest"), _("whose")]
    rows = []
    for one in facts.chapters:
        seconds = [time for time, _learner in one.seconds]
        if seconds:
            slowest, learner = one.seconds[-1]
            times = (sum(seconds), median(seconds), slowest)
            rows.append([_name_of(one), *(f"{time:.1f} s" for time in times), learner])
    if not rows:
        return _paragraph(_("Nothing was run."))
    about = _("This is the time that the grader took for each notebook, not that of the learners.")
    table = _table(_("Time by chapter"), head, rows, first_number=1, last_number=3)
    return join([_soft(about), table])


def _blanks(blanks: Sequence[Blank]) -> Markup:
    if not blanks:
        return _paragraph(_("Everything that was handed in was judged."))
    head = [_("learner"), _("chapter"), _("what"), _("why")]
    rows = [[one.learner, one.chapter, one.status, one.reason] for one in blanks[:_MOST_BLANKS]]
    parts = [_table(_("Without points"), head, rows)]
    if len(blanks) > len(rows):
        more = _("… and {count} more in grades.csv.").format(count=len(blanks) - len(rows))
        parts.append(_soft(more))
    return join(parts)


# --- small parts -----------------------------------------------------------------------------


def _table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    first_number: int = 99,
    last_number: int = 98,
) -> Markup:
    """Return a table in a box that scrolls; columns from `first_number` on are numbers."""
    last = max(last_number, len(head)) if last_number == 98 else last_number

    def is_number(place: int) -> bool:
        return first_number <= place <= last

    lines = join(
        fill("<tr>$cells</tr>", cells=join(_cell(w, n, is_number(n)) for n, w in enumerate(row)))
        for row in rows
    )
    heads = join(_head_cell(word, is_number(place)) for place, word in enumerate(head))
    table = fill(
        "<table><thead><tr>$heads</tr></thead><tbody>$lines</tbody></table>",
        heads=heads,
        lines=lines,
    )
    return _boxed(caption, table)


def _boxed(caption: str, table: Markup) -> Markup:
    return fill(
        '<div class="box" role="region" aria-label="$caption" tabindex="0">$table</div>',
        caption=caption,
        table=table,
    )


def _head_cell(word: str, is_number: bool) -> Markup:
    tag = '<th scope="col" class="number">$word</th>' if is_number else '<th scope="col">$word</th>'
    return fill(tag if word else "<td></td>", word=word)


def _cell(word: str, place: int, is_number: bool) -> Markup:
    if place == 0:
        return fill('<th scope="row"><bdi>$word</bdi></th>', word=word)
    return fill('<td class="number">$word</td>' if is_number else "<td>$word</td>", word=word)


def _percent(value: float) -> str:
    return f"{value:.0f}\N{NO-BREAK SPACE}%"


def _paragraph(sentence: str) -> Markup:
    return fill("<p>$sentence</p>", sentence=sentence)


def _soft(sentence: str) -> Markup:
    return fill('<p class="soft small">$sentence</p>', sentence=sentence)


def _folded(summary: str, inside: Markup) -> Markup:
    return fill(
        '<details class="small"><summary>$summary</summary>$inside</details>',
        summary=summary,
        inside=inside,
    )
