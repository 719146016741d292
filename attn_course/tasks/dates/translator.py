"""A date translator that is trained once and kept: only its weights are in the file.

- `trained_translator` trains Bahdanau's model on the dates of the course.
- `keep` writes its weights to a file, and `kept_translator` reads them back.
- `Translator.translate` writes a date in ISO form, and says where each digit looked.
"""

import pickle
import unicodedata
import warnings
from dataclasses import dataclass
from datetime import date
from io import BytesIO
from pathlib import Path

import torch
from torch import Tensor

from attn_course._files import replace_file
from attn_course.general_attention import BahdanauSeq2Seq
from attn_course.tasks.dates.bahdanau import BahdanauDates
from attn_course.tasks.dates.gold import ISO_LENGTH
from attn_course.tasks.dates.material import ISO_SIGNS, START, TARGET_SIGNS, source_signs
from attn_course.tasks.training import Trained, train
from attn_course.translate import _

STEPS = 600  # four times as many as the table's: this one is not compared, so it may train longer
_KIND = "attn-course date translator, 1"
_SEEN_FROM = 0.15  # the weight from which on a character is shown as looked at


class TranslatorProblem(Exception):  # noqa: N818  (the text says what is wrong and what to do)
    """A date can't be read, or a file has no translator in it."""


class OutdatedTranslator(TranslatorProblem):
    """A translator that was trained on dates with other characters."""


@dataclass(frozen=True)
class Translation:
    """A date in ISO form, and where the model looked for each sign of it.

    `weights` are `(10, 1 + characters)`: the language comes first.
    """

    text: str
    language: str
    iso: str
    weights: Tensor

    @property
    def is_date(self) -> bool:
        """Whether there is such a day: a model may write the 31st of February."""
        try:
            return date.fromisoformat(self.iso).isoformat() == self.iso
        except ValueError:
            return False

    def looked_at(self) -> str:
        """Return a line for each digit, with the characters that it looked at in their places."""
        lines = [f"    {self.text}"]
        for sign, row in zip(self.iso, self.weights.tolist(), strict=True):
            if sign == "-":
                continue
            at_language, *at_text = (weight >= _SEEN_FROM for weight in row)
            shown = (
                _visible(character) if seen else "·"
                for character, seen in zip(self.text, at_text, strict=True)
            )
            said = "  " + _("(the language)") if at_language else ""
            lines.append(f"  {sign} {''.join(shown)}{said}")
        return "\n".join(lines)


class Translator:
    """A trained model that reads dates as they are typed."""

    def __init__(self, model: BahdanauSeq2Seq) -> None:
        self.model = model.eval()

    def translate(self, text: str, language: str) -> Translation:
        """Return the date that `text` means in a language, as far as the model knows."""
        text = readable(text)
        numbers = {sign: number for number, sign in enumerate(source_signs())}
        source = torch.tensor([[numbers[sign] for sign in (language, *text)]])
        words, weights = self.model.greedy(source, START, START, ISO_LENGTH)
        # A model that stops early has written the start sign, which is no sign of a date.
        iso = "".join(ISO_SIGNS[word] for word in words[0].tolist() if word != START)
        return Translation(text, language, iso, weights[0, : len(iso)])


def readable(text: str) -> str:
    """Return a typed date with the characters that the model knows, or raise.

    Accents become parts of their letters, and unusual spaces usual ones.
    """
    known = set(source_signs())
    composed = unicodedata.normalize("NFC", text.strip())
    signs = [" " if sign.isspace() and sign not in known else sign for sign in composed]
    if not signs:
        raise TranslatorProblem(_("There is no date to translate: the text is empty."))
    unknown = sorted({sign for sign in signs if sign not in known})
    if unknown:
        sentence = _(
            "{text!r} has characters that occur in none of the dates the model was trained on: "
            "{unknown}"
        )
        raise TranslatorProblem(sentence.format(text=composed, unknown=" ".join(unknown)))
    return "".join(signs)


def trained_translator(steps: int = STEPS, progress: bool = False) -> tuple[Translator, Trained]:
    """Return a translator and the record of its training, with its score on held-out dates."""
    trained = train(BahdanauDates(), "Bahdanau", steps=steps, progress=progress)
    assert isinstance(trained.model, BahdanauSeq2Seq)
    return Translator(trained.model), trained


def keep(translator: Translator, path: Path) -> None:
    """Write the weights of a translator to a file, in one step."""
    content = {
        "kind": _KIND,
        "signs": list(source_signs()),
        "weights": translator.model.state_dict(),
    }
    written = BytesIO()
    torch.save(content, written)
    replace_file(path, written.getvalue())


def kept_translator(path: Path) -> Translator:
    """Return the translator that `keep` wrote; `FileNotFoundError` if there is no such file.

    The file may come from elsewhere, so nothing in it is executed: it may have tensors, and names.
    """
    other = _("{path} is not a date translator of this course. Choose another file with --model.")
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of files that it did not write
        try:
            content = torch.load(file, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, LookupError) as fault:
            raise TranslatorProblem(other.format(path=path)) from fault
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise TranslatorProblem(other.format(path=path))
    if content.get("signs") != list(source_signs()):
        sentence = _(
            "{path} was made with another version of Babel, whose dates have other characters. "
            "Train it anew with --fresh."
        )
        raise OutdatedTranslator(sentence.format(path=path))
    task = BahdanauDates()
    model = BahdanauSeq2Seq(len(source_signs()), TARGET_SIGNS, task.d_e, task.n)
    try:
        model.load_state_dict(content["weights"])
    except (RuntimeError, LookupError, TypeError, AttributeError) as fault:
        raise TranslatorProblem(other.format(path=path)) from fault
    return Translator(model)


def _visible(character: str) -> str:
    return "␣" if character.isspace() else character
