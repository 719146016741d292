"""The roster: what systems export is understood, and nobody is taken for somebody else."""

import pytest

from attn_course.grading.roster import Learner, RosterProblem, read_roster
from attn_course.grading.systems import Who

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Chapter 1 (77)
    Points Possible,,,,,12
"Doe, Ann",101,S-1,ann,A,
"Student, Test",102,,,A,
"""


def roster(text):
    return read_roster(text, "roster.csv")


def logins(text, **who):
    return [one.login for one in roster(text).find(Who(**who))]


def test_canvas_gradebook_is_a_roster():
    (ann,) = roster(CANVAS).learners
    assert ann == Learner("ann", "Doe, Ann", "101", "S-1", section="A")


@pytest.mark.parametrize(
    ("text", "login", "name"),
    [
        ("First name,Last name,Email address\nAnn,Doe,a@b.c\n", "a@b.c", "Ann Doe"),
        ("First Name,Last Name,SID,Email\nAnn,Doe,7,a@b.c\n", "a@b.c", "Ann Doe"),
        ("\ufeffusername,Full name\nann,Ann Doe\n".lstrip("\ufeff"), "ann", "Ann Doe"),
        ('login,Notes,name\nann,"two\nlines",Ann Doe\n', "ann", "Ann Doe"),
        ("assignment_name,github_username\nweek1,ann-codes\n", "ann-codes", ""),
    ],
)
def test_tables_of_other_systems_are_rosters(text, login, name):
    (one,) = roster(text).learners
    assert (one.login, one.name) == (login, name)


NAMES = "login,name\nann,Ann Q. Doe\nzoe,Zo\u00eb 李\nowl,🦉\n"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Ann Q. Doe", ["ann"]),
        ("doeannq", ["ann"]),
        ("ANN  q doe", ["ann"]),
        ("Zoe\u0308 李", ["zoe"]),
        ("🦉", ["owl"]),
        ("Ann", []),
        ("", []),
    ],
)
def test_names_are_found_however_a_system_writes_them(name, found):
    assert logins(NAMES, name=name) == found


def test_a_number_or_an_address_decides_before_a_name_does():
    text = "login,name,id,email\nann,Same Name,3,a@b.c\nbob,Same Name,5,b@b.c\n"
    assert logins(text, name="Same Name", id="5") == ["bob"]
    assert logins(text, name="Same Name", email="A@B.C") == ["ann"]
    assert logins(text, name="Same Name") == ["ann", "bob"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must name its columns"),
        ("when,where\n1,2\n", "it has when, where"),
        ("login,name\n", "names no learner"),
        ("login,name\nann,Ann\n,Bob\n", "Line 3 of roster.csv has no login: Bob"),
        ("login\nann\nbob\nANN\n", "the login ANN twice, in lines 2 and 4"),
    ],
)
def test_a_roster_that_can_not_be_used_says_why(text, why):
    with pytest.raises(RosterProblem, match=why):
        roster(text)
