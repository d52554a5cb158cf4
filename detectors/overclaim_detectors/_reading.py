"""What people's SQL may do: read tables of the store, and nothing outside it.

Read-only mode of the engine is not enough: a scalar function reads files, DESCRIBE of a table function connects, and a
function may hide behind APPLY, behind a bare name in arrayMap, or in the structure of a table function. So the engine's
own parser lists what a statement uses, and everything that is not known to be harmless is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from overclaim_detectors.store import Params, QueryError, Rows

Ask = Callable[[str, Params | None], Rows]

_MAX_TEXT: Final = 256 << 10  # the engine's own bound, max_query_size
_NO_TREE: Final = 36  # the engine's code for a statement that its parser cannot give as a tree
_TOO_LARGE: Final = 229
_READONLY: Final = 164  # the engine's code for what may not be done in read-only mode
_TOO_DEEP: Final = 167
_FUNCTIONS: Final = "SELECT name, alias_to, categories, is_aggregate, toString(origin) FROM system.functions"
_COMBINATORS: Final = "SELECT name FROM system.aggregate_function_combinators"
_FORMATTED: Final = "SELECT formatQuerySingleLine({sql:String})"
_TREE: Final = "SELECT parseQueryToJSON({sql:String})"


def _words(text: str, separator: str | None = None) -> frozenset[str]:
    return frozenset(text.split(separator))


# Statements without a tree, as the engine's formatter writes them: about tables with plain names.
_NAME: Final = r"(?:\w+|`\w+`)"
_PLAIN: Final = re.compile(
    rf"(?P<text>(?:DESCRIBE|EXISTS|SHOW CREATE) TABLE {_NAME}(?:\.{_NAME})?"
    rf"|SHOW (?:CREATE DATABASE {_NAME}|GRANTS|PROCESSLIST|ENGINES|FUNCTIONS(?: I?LIKE '\w*%?')?|SETTING \w+))"
    r"(?: FORMAT `?(?P<format>\w+)`?)?"
)
_STATEMENTS: Final = _words(
    "SelectQuery SelectWithUnionQuery SelectIntersectExceptQuery ExplainQuery ShowTablesQuery ShowColumnsQuery "
    "ShowIndexesQuery CheckTableQuery TablesInSelectQuery SetQuery"
)
_EXPLAINED: Final = ("", " AST", " SYNTAX", " QUERY TREE", " PIPELINE", " ESTIMATE")
# Those that take the structure of a table as text (values, null, generateRandom) may hide expressions in it.
_TABLE_FUNCTIONS: Final = _words(
    "numbers numbers_mt zeros zeros_mt primes generateseries generate_series view viewexplain"
)
# Categories of functions that compute from their arguments, whatever functions a later engine adds to them.
_HARMLESS: Final = _words(
    "Aggregate Functions|Arithmetic|Arrays|Bit|Bitmap|Comparison|Conditional|Dates and Times|Distance|Encoding|"
    "Financial|Geo|Geo Polygon|Hash|IP Address|JSON|Logical|Map|Mathematical|Null|NumericIndexedVector|QBit|"
    "Random Number|Rounding|String|String Replacement|String Search|String Splitting|Time Series|Time Window|Tuple|"
    "Type Conversion|URL|UUID",
    "|",
)
# What the parser makes of syntax, and the harmless ones of categories that hold others too.
_SYNTAX: Final = _words("lambda exists casewithexpression nested grouping")
_CHOSEN: Final = _words(
    "bar blockNumber blockSize byteSize countDigits currentDatabase currentSchemas currentUser "
    "defaultValueOfArgumentType defaultValueOfTypeName digits displayName dumpColumnStructure errorCodeToName "
    "finalizeAggregation formatQuery formatQueryOrNull formatQuerySingleLine formatQuerySingleLineOrNull "
    "formatReadableDecimalSize formatReadableQuantity formatReadableSize formatReadableTimeDelta getSetting "
    "getSettingOrDefault getSizeOfEnumType getSubcolumn hostName identity ignore indexHint initializeAggregation "
    "isConstant isDecimalOverflow lowCardinalityIndices lowCardinalityKeys materialize minSampleSizeContinuous "
    "minSampleSizeConversion neighbor normalizeQuery normalizeQueryKeepNames normalizedQueryHash "
    "normalizedQueryHashKeepNames parseISO8601Duration parseReadableSize parseReadableSizeOrNull "
    "parseReadableSizeOrZero parseTimeDelta queryID revision rowNumberInAllBlocks rowNumberInBlock runningAccumulate "
    "runningConcurrency runningDifference runningDifferenceStartingWithFirstValue sleep sleepEachRow throwIf "
    "toColumnTypeName toTypeName tokenizeQuery transform uptime variantElement variantType version visibleWidth "
    "demangle tid"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that only reads, as the engine's formatter writes it: without comments, end mark and FORMAT."""

    text: str
    format: str  # the one that it names, "" for none


@dataclass(frozen=True, slots=True)
class _Known:
    """The engine's functions, in lower case."""

    allowed: frozenset[str]
    refused: frozenset[str]
    aggregates: frozenset[str]
    combinators: tuple[str, ...]


class Reading:
    """Tells whether a statement only reads the store; `ask` runs our own SQL on its engine."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: _Known | None = None

    def checked(self, sql: str) -> Statement:
        """The statement, unless it could reach beyond the store.

        Raises:
            QueryError: with what it uses, or with the parser's complaint.
        """
        if len(sql.encode()) > _MAX_TEXT:
            raise QueryError(
                f"the statement is longer than {_MAX_TEXT} bytes: bind long values as {{name:Type}}", _TOO_LARGE
            )
        written = self._one(_FORMATTED, sql)
        if plain := _PLAIN.fullmatch(written):
            return Statement(plain["text"], plain["format"] or "")
        known = self._known = self._known or _known(self._ask)
        tree = self._tree(sql)
        named = _taken_format(tree)
        for node in _nodes(tree):
            _check_node(node, known)
        return Statement(_without_format(written, named), named)

    def _tree(self, sql: str) -> dict[str, Any]:
        try:
            return cast("dict[str, Any]", json.loads(self._one(_TREE, sql)))
        except RecursionError:
            raise QueryError("the statement is nested too deep", _TOO_DEEP) from None
        except QueryError as error:
            if error.code != _NO_TREE:
                raise
            raise QueryError(
                "only reading tables of the store is allowed here: use SELECT, SHOW TABLES, EXPLAIN SELECT, "
                "or DESCRIBE, EXISTS or SHOW CREATE with the name of a table",
                _READONLY,
            ) from error

    def _one(self, question: str, sql: str) -> str:
        try:
            return str(self._ask(question, {"sql": sql}).rows[0][0])
        except QueryError as error:
            raise QueryError(str(error).partition(f": In scope {question[:20]}")[0], error.code) from error


def _known(ask: Ask) -> _Known:
    rows = ask(_FUNCTIONS, None).rows
    targets = {str(name): (str(alias or name)) for name, alias, *_ in rows}
    harmless = {
        str(name)
        for name, alias, category, aggregate, origin in rows
        if not alias and origin == "System" and (aggregate or category in _HARMLESS or name in _CHOSEN)
    }
    refused = {name.lower() for name, target in targets.items() if target not in harmless} - _SYNTAX
    allowed = ({name.lower() for name in targets} | _SYNTAX) - refused
    aggregates = {str(row[0]).lower() for row in rows if row[3]}
    combinators = tuple(str(row[0]).lower() for row in ask(_COMBINATORS, None).rows)
    return _Known(frozenset(allowed), frozenset(refused), frozenset(aggregates), combinators)


def _taken_format(tree: dict[str, Any]) -> str:
    """Take the FORMAT clause of the whole statement out of its tree; "" where it has none."""
    clause = tree.pop("format_ast", None)
    return str(clause.get("name", "")) if isinstance(clause, dict) else ""  # pyright: ignore


def _without_format(written: str, named: str) -> str:
    if not named:
        return written
    for clause in (f" FORMAT {named}", f" FORMAT `{named}`"):  # keywords, such as Null, are quoted
        if written.endswith(clause):
            return written.removesuffix(clause)
    raise QueryError("FORMAT must be the last clause: give settings before it", _READONLY)


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Every object of the tree; the call of a table function has "table" set."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += cast("list[object]", item)
        elif isinstance(item, dict):
            node = cast("dict[str, Any]", item)
            for key in ("table_function", "table"):
                if isinstance(call := node.get(key), dict):
                    cast("dict[str, Any]", call)["table"] = True
            yield node
            waiting += node.values()


def _check_node(node: dict[str, Any], known: _Known) -> None:
    if "format_ast" in node:
        raise QueryError("FORMAT is for the whole statement: make it the last clause", _READONLY)
    if "out_file" in node:
        raise QueryError("no file may be written", _READONLY)
    kind, name = str(node.get("type", "")), str(node.get("name", ""))
    if kind == "Function":
        _check_function(name, known, table="table" in node)
    elif kind == "ColumnsApplyTransformer" and "func_name" in node:
        _check_function(str(node["func_name"]), known, table=False)
    elif kind == "Identifier" and name.lower() in known.refused:
        # A bare name may stand for a function, as in arrayMap(lower, names).
        raise _not_allowed(name)
    elif kind == "QueryParameter" and str(node.get("param_type", "")).strip().lower() == "identifier":
        raise QueryError(f"{{{name}:Identifier}} is not allowed: write the name itself into the statement", _READONLY)
    elif kind.endswith("Query") and kind not in _STATEMENTS:
        raise QueryError("only reading is allowed here: use SELECT, SHOW, DESCRIBE or EXPLAIN SELECT", _READONLY)
    elif kind == "ExplainQuery" and str(node.get("kind", "")).removeprefix("EXPLAIN") not in _EXPLAINED:
        raise QueryError(f"{node.get('kind')} is not allowed here: use EXPLAIN SELECT", _READONLY)


def _check_function(name: str, known: _Known, *, table: bool) -> None:
    lower = name.lower()
    if lower in _TABLE_FUNCTIONS:  # also behind IN
        return
    if table or not (lower in known.allowed or _is_combined(lower, known)):
        raise _not_allowed(name)


def _is_combined(name: str, known: _Known) -> bool:
    """Whether it is an aggregate function with combinators behind it, such as countIf or groupArrayIfOrNull."""
    if name in known.refused:
        return False
    for combinator in known.combinators:
        stem = name.removesuffix(combinator)
        if stem != name and (stem in known.aggregates or _is_combined(stem, known)):
            return True
    return False


def _not_allowed(name: str) -> QueryError:
    return QueryError(
        f"{name!r} is not allowed here: a query may read tables of the store and compute from them, "
        "but not reach files, other servers or other programs",
        _READONLY,
    )
