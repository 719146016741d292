"""`attn-course translate`: train the date translator once, then translate what one types."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from attn_course.tasks.dates.rendering import LOCALES
from attn_course.tasks.dates.translator import (
    OutdatedTranslator,
    Translator,
    TranslatorProblem,
    keep,
    kept_translator,
    readable,
    trained_translator,
)
from attn_course.translate import _


class UnknownLanguage(Exception):  # noqa: N818  (the text says which there are)
    """The user named no language, or one that the model has not learned."""


def carry_out(arguments: argparse.Namespace) -> int:
    """Translate the dates of the command line, or else those of the standard input."""
    language = known_language(arguments.language)
    for text in arguments.date:  # before a minute of training for a date that can't be read
        readable(text)
    translator = ready_translator(arguments.model, arguments.fresh)
    if arguments.date:
        return _translate_all(translator, arguments.date, language, arguments.alignment)
    if sys.stdin.isatty():
        sentence = _("Type dates in the language {language}, one per line; Ctrl-D ends.")
        print(sentence.format(language=language), file=sys.stderr)
    lines = (line for line in sys.stdin if line.strip())
    return _translate_all(translator, lines, language, arguments.alignment)


def known_language(word: str | None) -> str:
    """Return the language that the user named."""
    known = ", ".join(LOCALES)
    if word is None:
        sentence = _(
            "Say in which language the dates are written, for example --language en, because "
            "5/3/24 is in March or in May. There are: {known}."
        )
        raise UnknownLanguage(sentence.format(known=known))
    if word.lower() not in LOCALES:
        sentence = _("The model has not learned the language {word!r}; there are: {known}.")
        raise UnknownLanguage(sentence.format(word=word, known=known))
    return word.lower()


def ready_translator(path: Path, fresh: bool = False) -> Translator:
    """Return the translator in a file, or train one and keep it there.

    A file with something else in it is never overwritten, not even if `fresh` asks for training.
    """
    try:
        kept = kept_translator(path)
        if not fresh:
            return kept
    except FileNotFoundError:
        pass
    except OutdatedTranslator:
        if not fresh:
            raise
    path.parent.mkdir(parents=True, exist_ok=True)  # may fail, so before the training
    print(_("Training a translator, which takes about a minute."), file=sys.stderr)
    translator, trained = trained_translator(progress=True)
    keep(translator, path)
    sentence = _(
        "It writes {share:.1%} of held-out dates exactly right. Its weights are kept in {path}."
    )
    print(sentence.format(share=trained.test.score, path=path), file=sys.stderr)
    return translator


def _translate_all(
    translator: Translator, dates: Iterable[str], language: str, alignment: bool
) -> int:
    """Print a date per line, and go on after one that can't be read; return the exit code."""
    code = 0
    for text in dates:
        try:
            found = translator.translate(text, language)
        except TranslatorProblem as fault:
            print(fault, file=sys.stderr)
            code = 1
            continue
        print(found.iso, flush=True)
        if alignment:
            print(found.looked_at(), flush=True)
        if not found.is_date:
            sentence = _("There is no day {iso}: the model has misread {text!r}.")
            print(sentence.format(iso=found.iso, text=found.text), file=sys.stderr)
            code = 1
    return code
