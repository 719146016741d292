"""Packages that a single part of the course needs are installed on demand."""

from attn_course.translate import _


def missing(package: str, extra: str) -> ImportError:
    """Return the error for a package that is not installed, with the command that installs it.

    >>> print(missing("babel", "dates"))
    This needs the package babel, which is not installed: pip install 'attn-course[dates]'
    """
    sentence = _(
        "This needs the package {package}, which is not installed: "
        "pip install 'attn-course[{extra}]'"
    )
    return ImportError(sentence.format(package=package, extra=extra), name=package)
