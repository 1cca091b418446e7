"""Words of an instruction: split at white space, but not inside quotes."""

from __future__ import annotations

from typing import List


def split_words(text: str, escape: str) -> List[str]:
    """The words of a text, quotes and escapes left in place; at least one, maybe empty.

    Args:
        text: What follows an instruction's name.
        escape: The escape character, which takes the next character as it is.
    """
    words: List[str] = []
    word = ""
    quote = ""
    position = 0
    while position < len(text):
        char = text[position]
        if char == escape and quote != "'":
            word += text[position : position + 2]
            position += 2
            continue
        position += 1
        if char.isspace() and not quote:
            words += [word] if word else []
            word = ""
            continue
        word += char
        quote = _after(char, quote)
    return [*words, word] if word or not words else words


def _after(char: str, quote: str) -> str:
    """The open quote after a character."""
    if quote:
        return "" if char == quote else quote
    return char if char in "\"'" else ""
