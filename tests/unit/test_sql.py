from __future__ import annotations

import re

import pytest

from overclaim._errors import InputError
from overclaim_detectors import sql
from overclaim_detectors.store import Store
from overclaim_detectors.tables import tables


def test_a_query_is_found_by_name() -> None:
    """The text comes back as it stands in the file."""
    assert sql.load("report/claims") == (sql.root() / "report" / "claims.sql").read_text("utf-8")


@pytest.mark.parametrize("name", ["../pyproject", "report/../report/claims", "Report/Claims", "", "/etc/passwd"])
def test_only_names_of_queries_are_taken(name: str) -> None:
    """Nothing outside of the folder can be named."""
    with pytest.raises(InputError, match="no query name"):
        sql.load(name)


def test_an_unknown_query_lists_the_known_ones() -> None:
    """Whoever mistypes a name sees what there is."""
    with pytest.raises(InputError, match="report/claims"):
        sql.load("report/clams")


@pytest.mark.parametrize("name", sql.names())
def test_every_query_says_what_it_is_for(name: str) -> None:
    """Each file begins with a comment, holds no tab, and ends with one newline."""
    text = sql.load(name)
    assert sql.header(name)
    assert "\t" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("name", sql.names("report"))
def test_reports_say_what_their_parameters_mean(name: str) -> None:
    """Every value that a report wants bound is named in the comment at its top."""
    unexplained = {one for one in sql.placeholders(sql.load(name)) if one not in sql.header(name)}
    assert not unexplained


def test_a_script_is_cut_at_its_statements() -> None:
    """Semicolons in texts and comments cut nothing; comments stay with the statement that follows."""
    script = "-- one; two\nSELECT 'a;b';\n\n-- next\nSELECT 2\n;\n-- the end\n"
    assert sql.statements(script) == ["-- one; two\nSELECT 'a;b'", "-- next\nSELECT 2"]


def test_the_schema_shown_is_that_of_the_engine(store: Store) -> None:
    """Names and types of all columns are printed as the engine has them, those of nested columns included."""
    shown = {table.name: [(one.name, one.type) for one in table.columns] for table in tables()}
    views_of_others = {name for name in shown if name.endswith("_mv")}
    assert not [name for name in views_of_others if shown[name]]
    assert "overclaim_spans" in shown
    assert set(shown) <= {name for (name,) in store.query("SHOW TABLES").rows}
    for name in set(shown) - views_of_others:
        described = store.query("DESCRIBE TABLE {table:Identifier}", {"table": name}).rows
        assert shown[name] == [(row[0], row[1]) for row in described]


def test_few_views_work_while_spans_come_in(store: Store) -> None:
    """One reads OTLP where the engine does, one fills the inbox, and one more does so for log records."""
    query = "SELECT name, dependencies_table FROM system.tables WHERE database = currentDatabase()"
    views = {name: list(filling) for name, filling in store.query(query).rows if filling}
    assert views == {
        "overclaim_otlp_traces": ["overclaim_otlp_traces_mv"],
        "otel_traces": ["overclaim_inbox_mv"],
        "otel_logs": ["overclaim_logs_inbox_mv"],
    }


def test_the_columns_of_our_tables_are_explained() -> None:
    """Every column of the tables that detection fills has words about its purpose."""
    ours = [table for table in tables() if re.fullmatch(r"overclaim_(?!spans)\w+(?<!_mv)", table.name)]
    assert len(ours) >= 7
    for table in ours:
        assert table.about
        assert table.columns
        assert [column.name for column in table.columns if not column.comment] == []
        assert all(re.fullmatch(r"[A-Z][A-Za-z]*", column.name) for column in table.columns)
