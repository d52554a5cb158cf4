"""What a tool's name and arguments say about the operation."""

import json

import pytest

from overclaim.outcome.model import Effect, ToolFacts
from overclaim.outcome.operations import operation


@pytest.mark.parametrize(
    ("tool", "arguments", "action", "objects", "targets", "effect"),
    [
        (
            "http_request",
            {"method": "POST", "url": "https://api.example.com/v1/users?x=1"},
            "create",
            ("user",),
            ("/v1/users",),
            "write",
        ),
        ("http_request", {"method": "get", "url": "/users/17"}, "read", ("user",), ("/users/17",), "read"),
        ("send_email", {"to": "Bob@Example.com", "subject": "Hi"}, "send", ("email",), ("bob@example.com",), "write"),
        ("crm.contacts.create", {"email": "m@example.com"}, "create", ("crm", "contact"), ("m@example.com",), "write"),
        ("cancelOrder", {"order_id": 71}, "cancel", ("order",), ("71",), "write"),
        ("list_orders", {}, "read", ("order",), (), "read"),
        ("order_status", {"id": "A-1"}, "read", ("order", "status"), ("a-1",), "read"),
        ("run_sql", {"sql": "UPDATE customers SET a=1"}, "update", ("customer",), ("customers",), "write"),
        ("query", {"query": "select * from orders"}, "search", ("order",), ("orders",), "read"),
        ("confirm_code", {"code": "449120"}, "confirm", ("code",), (), "write"),
        ("verify_identity", {"otp": "1"}, "confirm", ("identity",), (), "write"),
        ("verify_identity", {"name": "ann"}, "verify", ("identity",), ("ann",), "read"),
        ("frobnicate", {"id": "x1"}, "", ("frobnicate",), ("x1",), "unknown"),
    ],
)
def test_operation_of_a_call(
    tool: str,
    arguments: dict[str, object],
    action: str,
    objects: tuple[str, ...],
    targets: tuple[str, ...],
    effect: str,
) -> None:
    """The action comes from method, statement, command or name; targets from identifying arguments."""
    found = operation(tool, arguments)
    assert (found.action, found.objects, found.targets, found.effect) == (action, objects, targets, Effect(effect))


def test_a_retry_with_mended_arguments_keeps_the_key() -> None:
    """Amounts and texts do not identify an operation, so a corrected attempt is the same operation."""
    first = operation("create_payment", {"customer_id": "cus_1", "amount": "12.50", "description": "x"})
    second = operation("create_payment", {"customer_id": "cus_1", "amount": 1250, "description": "y"})
    assert first.key == second.key


def test_other_targets_are_other_operations() -> None:
    """Importing another file is another operation."""
    assert operation("import_calendar", {"file": "a.ics"}).key != operation("import_calendar", {"file": "b.ics"}).key


def test_people_are_context_where_something_more_precise_is_named() -> None:
    """An order identifies what is changed; the user only says for whom."""
    assert operation("update_order", {"user_id": "u_1", "order_id": "W-9"}).targets == ("w-9",)
    assert operation("update_user", {"user_id": "u_1"}).targets == ("u_1",)


def test_declared_facts_win() -> None:
    """A declared read-only tool reads, whatever its name says."""
    assert operation("create_view", {}, facts=ToolFacts(read_only=True)).effect is Effect.READ
    assert operation("get_and_lock", {}, facts=ToolFacts(read_only=False)).effect is Effect.WRITE


def test_the_description_helps_an_opaque_name() -> None:
    """A name without a known verb falls back on the first words of the description."""
    assert operation("acme.t17", {}, description="Delete a customer record").action == "delete"


@pytest.mark.parametrize(
    "arguments", ["not json", "[1, 2]", "", None, json.dumps({"a": {"b": {"c": 1}}}), "[" * 100_000]
)
def test_any_arguments_are_survived(arguments: str | None) -> None:
    """Arguments that are no object still give an operation."""
    assert operation("create_user", arguments).action == "create"


@pytest.mark.parametrize(
    ("command", "action", "effect", "targets"),
    [
        ("pytest -q tests/test_a.py", "test", "read", ("tests/test_a.py",)),
        ("cd repo && python -m pytest -x", "test", "read", ("pytest",)),
        ("cat notes.txt | grep x", "read", "read", ("notes.txt",)),
        ("echo hi > out.txt", "create", "write", ("out.txt",)),
        ("cat > a.py <<'EOF'\nrm -rf /\nEOF\n", "create", "write", ("a.py",)),
        ("rm -rf build", "delete", "write", ("build",)),
        ("git push origin main", "publish", "write", ("push", "origin", "main")),
        ("python migrate.py --env staging 2>&1 | tail -3", "run", "unknown", ("migrate.py", "staging")),
        ("ls > /dev/null", "read", "read", ("/dev/null",)),
        ("echo 'unbalanced", "read", "read", ("'unbalanced",)),
    ],
)
def test_shell_commands(command: str, action: str, effect: str, targets: tuple[str, ...]) -> None:
    """Of a chain of commands, testing and writing decide; pipes and here-documents do not."""
    found = operation("bash", {"command": command})
    assert (found.action, found.effect.value) == (action, effect)
    assert set(targets) <= set(found.targets) | {"'unbalanced", "/dev/null"}


def test_a_number_of_many_digits_is_no_identifier() -> None:
    """An int too long to be written out is left aside."""
    assert operation("create_user", {"id": 10**5000, "name": "ann"}).targets == ("ann",)


@pytest.mark.parametrize(
    ("tool", "action", "effect"),
    [
        ("get_or_create_contact", "create", "write"),
        ("findOrCreateUser", "create", "write"),
        ("crm.fetch_and_store", "create", "write"),
        ("lookup_and_update", "update", "write"),
        ("read_modify_write", "update", "write"),
        ("search_and_book", "book", "write"),
        ("verify_and_activate_user", "publish", "write"),
        ("compare_and_swap", "update", "write"),
        ("lookup_then_delete", "delete", "write"),
        ("mark_as_read", "update", "write"),
        ("mark_message_read", "update", "write"),
        ("ensure_user", "", "unknown"),
        ("fetch_rows_and_update_sheet", "", "unknown"),
        ("get_name_and_address", "read", "read"),
        ("get_name_and_email", "read", "read"),
        ("get_post_and_comments", "read", "read"),
        ("find_orders_and_invoices", "search", "read"),
        ("search_and_filter", "search", "read"),
        ("check_delete_permission", "verify", "read"),
        ("read_marked_mail", "read", "read"),
        ("get_store", "read", "read"),
        ("list_books", "read", "read"),
    ],
)
def test_a_name_of_several_verbs(tool: str, action: str, effect: str) -> None:
    """Of verbs that are joined, the one that changes something counts; nouns that look like verbs do not."""
    found = operation(tool, {})
    assert (found.action, found.effect.value) == (action, effect)
