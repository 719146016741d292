"""German number words, with the letters that say each digit.

German says the units before the tens: 47 is *siebenundvierzig*, seven-and-forty. So a translator
that writes digits from left to right has to look back and forth.

A number is composed of morphemes. One that says the value of a digit is linked to that digit:
*sieben* to the 7, *vierzig* to the 4. *Und*, *hundert* and *tausend* say the value of none, and
zeros have no word. *Elf* and *zwölf* say two digits at once.
"""

from typing import NamedTuple

LARGEST = 999_999

_UNITS = ("", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
_TENS = (
    *("", "zehn", "zwanzig", "dreißig", "vierzig"),
    *("fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"),
)
_SHORT = {6: "sech", 7: "sieb"}  # before zehn: sechzehn, siebzehn
_BOTH_DIGITS = {1: "elf", 2: "zwölf"}

_Morpheme = tuple[str, tuple[int, ...]]  # its letters, and the places of the digits that it says


class Spelled(NamedTuple):
    """A number in words; `places` has for each digit the letters that say it, none for a zero."""

    text: str
    places: tuple[range, ...]


def spelled(number: int) -> Spelled:
    """Return a number from 1 to 999,999 in German words.

    >>> spelled(47)
    Spelled(text='siebenundvierzig', places=(range(9, 16), range(0, 6)))
    """
    if not 1 <= number <= LARGEST:
        raise ValueError(f"number must be from 1 to {LARGEST}, but is {number}.")
    digits = str(number)
    thousands, rest = digits[:-3], digits[-3:]
    morphemes: list[_Morpheme] = []
    if thousands:
        morphemes += [*_group(thousands, 0, one="ein"), ("tausend", ())]
    morphemes += _group(rest, len(thousands), one="eins")
    text, places = "", [range(0)] * len(digits)
    for letters, said in morphemes:
        for place in said:
            places[place] = range(len(text), len(text) + len(letters))
        text += letters
    return Spelled(text, tuple(places))


def _group(digits: str, first: int, one: str) -> list[_Morpheme]:
    """Return up to three digits, whose `first` is at that place of the whole number.

    A last 1 is `one`: *eins* at the end of a number, *ein* before another word.
    """
    hundreds, tens, units = (int(digit) for digit in digits.rjust(3, "0"))
    last = first + len(digits) - 1
    of_units, of_tens, of_hundreds = (last,), (last - 1,), (last - 2,)
    before: list[_Morpheme] = []
    if hundreds:
        before = [(_UNITS[hundreds], of_hundreds), ("hundert", ())]
    if tens == 1 and units in _BOTH_DIGITS:
        return [*before, (_BOTH_DIGITS[units], of_tens + of_units)]
    if tens == 0:
        word = one if units == 1 else _UNITS[units]
        return [*before, (word, of_units)] if units else before
    if units == 0:
        return [*before, (_TENS[tens], of_tens)]
    if tens == 1:
        return [*before, (_SHORT.get(units, _UNITS[units]), of_units), ("zehn", of_tens)]
    return [*before, (_UNITS[units], of_units), ("und", ()), (_TENS[tens], of_tens)]
