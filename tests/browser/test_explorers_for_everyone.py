"""What every explorer of chapters 2 to 4 does for everyone: axe, phones, still eyes, paper."""

import pytest

from attn_course.figures.explorers import (
    HardSoftExplorer,
    LocalAlignmentExplorer,
    MultiDimensionalExplorer,
    ScoresExplorer,
    SoftmaxExplorer,
)
from tests.browser import explorer_checks as checks

# On the bare page with everything shown that it can show.
CHAPTERS = {
    ScoresExplorer: "02_scoring",
    SoftmaxExplorer: "03_alignment",
    HardSoftExplorer: "03c_hard",
    LocalAlignmentExplorer: "03d_local",
    MultiDimensionalExplorer: "04_dimensionality",
}
FULLEST = {
    SoftmaxExplorer: {"mask": [True, True, False, True, True, True]},
    LocalAlignmentExplorer: {"slip": True},
}


@pytest.fixture(scope="module", params=CHAPTERS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def bare(kind, tmp_path_factory):
    return checks.alone(kind(**FULLEST.get(kind, {})), tmp_path_factory.mktemp("bare page"))


@pytest.fixture(scope="module", params=checks.PLACES)
def where(request, kind, bare):
    return checks.in_place(request, bare, CHAPTERS[kind])


@pytest.mark.parametrize(("theme", "screen"), checks.THEMES_AND_SCREENS)
def test_axe_finds_nothing(visit, where, theme, screen):
    page = visit(where, viewport=screen, color_scheme=theme)
    where.live(page).locator("summary").click()
    assert checks.access_faults(page, where) == []


def test_it_fits_on_a_phone(visit, bare):
    assert checks.phone_faults(visit, bare) == []


def test_nothing_moves_by_itself_for_who_asked_for_that(visit, where):
    assert checks.moving_by_itself(visit, where) == []


def test_paper_has_the_picture_and_no_slider(visit, where):
    page = visit(where)
    live = where.live(page)
    sliders = live.get_by_role("slider")
    assert sliders.first.is_visible()
    page.emulate_media(media="print")
    assert not any(one.is_visible() for one in sliders.all())
    assert live.get_by_role("img").is_visible()
