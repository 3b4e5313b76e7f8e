"""Encodings of text: UTF-8, unless the file or an option says otherwise."""

import codecs
import re
from collections.abc import Iterator

from opforest.errors import DataFileError

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

#: Names in messages of encodings that are only guesses.
NAMES = {"latin-1": "Latin-1 (ISO 8859-1)", "cp1252": "CP-1252 (Windows, Western)"}

#: Characters of several bytes in UTF-8, bytes that no text in CP-1252 has, and its own characters.
_SEVERAL = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
_FOREIGN = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
_WINDOWS = re.compile(rb"[\x80-\x9f]")


def guess_encoding(begin: bytes) -> str | None:
    r"""Return the encoding of a text that is not UTF-8 by its first bytes; None if it may be.

    A byte order mark means UTF-16. A text with characters that are valid in UTF-8, and others that
    are not, is damaged.

    Examples
    --------
    >>> from opforest.io.encodings import guess_encoding
    >>> guess_encoding("café\n".encode()), guess_encoding("café\n".encode("latin-1"))
    (None, 'latin-1')
    >>> guess_encoding("5 €".encode("cp1252"))
    'cp1252'
    """
    if begin.startswith(UTF_16):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begin)  # may end within a character
        return None
    except UnicodeDecodeError:
        if _SEVERAL.search(begin) or _FOREIGN.search(begin):
            return None
    return "cp1252" if _WINDOWS.search(begin) else "latin-1"


def recode(parts: Iterator[bytes], encoding: str, path: str) -> Iterator[bytes]:
    """Yield text in UTF-8 without a byte order mark, or raise an error about an invalid byte."""
    is_first = True
    try:
        for text in codecs.iterdecode(parts, encoding):
            yield (text.removeprefix("\ufeff") if is_first else text).encode()
            is_first = is_first and not text
    except UnicodeError as error:
        what = getattr(error, "reason", None) or str(error)
        reason = f"the file is not valid {encoding.upper()}: {what}; --encoding names another"
        raise DataFileError(reason, path) from None


def find_encoding(name: str) -> str:
    """Return the name by which Python knows an encoding of text, or raise a ``ValueError``."""
    try:
        found = codecs.lookup(name)
        "".encode(found.name)
    except LookupError:
        known = "utf-8, utf-16, latin-1, cp1252, cp1251, shift_jis, gbk and others of Python"
        raise ValueError(f"--encoding must be one of {known}, got {name!r}.") from None
    return found.name
