"""What may stand in the place of an option's value that pydantic refused, in our words rather than the library's."""

from __future__ import annotations

from typing import Final

from pydantic_core import ErrorDetails

_KINDS: Final = {
    "int_parsing": "give a whole number",
    "int_parsing_size": "give a smaller number",
    "int_type": "give a whole number",
    "int_from_float": "give a whole number",
    "float_parsing": "give a number",
    "float_type": "give a number",
    "finite_number": "give a number that is finite",
    "bool_parsing": "give true or false",
    "bool_type": "give true or false",
    "path_not_file": "give the path of a file that is there",
    "string_pattern_mismatch": "use letters, digits and the characters _ - . {{ }}",
    "greater_than": "give more than {gt:g}",
    "greater_than_equal": "give {ge:g} or more",
    "less_than_equal": "give {le:g} or less",
    "literal_error": "give {expected}",
}


def wanted(error: ErrorDetails) -> str:
    """The cure for one value, such as "give 768 or more"; of a validator of ours its own words."""
    said = _KINDS.get(error["type"])
    if said is None:
        return error["msg"].removeprefix("Value error, ").replace("Input should", "it must")
    return said.format(**error.get("ctx", {}))
