"""The time of a notebook: shared out fairly, whatever the order, and bounded in all."""

import pytest

from attn_course.grading.time_shares import TimeShares
from tests.grading.fake_sandbox import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def shares(clock):
    return TimeShares(60, clock)


def take(shares, clock, among, seconds):
    """Let an exercise take so long, or as long as it may; return its share."""
    share = shares.begin(shares.fair(among))
    clock.advance(min(seconds, share.left))
    shares.end(share)
    return share


def test_everybody_has_an_equal_share(shares, clock):
    given = [take(shares, clock, among=3, seconds=99).seconds for _exercise in range(3)]
    assert given == [20, 20, 20]
    assert clock.now == 1060


def test_what_one_does_not_use_goes_to_the_others(shares, clock):
    assert take(shares, clock, 3, seconds=2).seconds == 20
    assert take(shares, clock, 2, seconds=8).seconds == 29
    assert take(shares, clock, 1, seconds=0).seconds == 50


def test_a_share_counts_until_it_is_ended(shares, clock):
    share = shares.begin(20)
    clock.advance(5)
    assert (share.used, share.left, share.is_used_up) == (5, 15, False)
    shares.end(share)
    clock.advance(50)
    assert (share.used, share.left, share.is_used_up) == (5, 15, False)


def test_who_was_stopped_is_tried_again_with_what_the_others_left(shares, clock):
    slow = take(shares, clock, among=3, seconds=99)
    for among in (3, 2):
        take(shares, clock, among, seconds=1)
    assert slow.is_used_up
    assert shares.fair(among=1) == 58
    assert shares.is_worth_another_try(slow, offered=58)


def test_who_had_as_much_already_is_not_tried_again(shares, clock):
    take(shares, clock, 2, seconds=1)
    last = take(shares, clock, 1, seconds=99)
    assert last.seconds == 59
    assert not shares.is_worth_another_try(last, shares.fair(among=1))


def test_what_takes_us_too_long_costs_the_others_nothing(shares, clock):
    share = shares.begin(20)
    clock.advance(45)  # judging can't be interrupted
    shares.end(share)
    assert share.is_used_up
    assert shares.fair(among=3) == 20


def test_after_twice_the_time_everything_ends(shares, clock):
    clock.advance(115)  # the cells of several children
    share = shares.begin(shares.fair(1))
    assert (share.seconds, share.left, shares.is_over) == (60, 5, False)
    clock.advance(5)
    shares.end(share)
    assert share.is_used_up
    assert shares.is_over
    assert not shares.is_worth_another_try(share, offered=99)
