"""What the names of tools tell, however a team writes them."""

import pytest

from overclaim.outcome.names import hands_in, is_vague, looks_up, name_action
from overclaim.outcome.operations import operation


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("crm.update_contact", "update"),
        ("crm-update-contact", "update"),
        ("calendar.search_slots", "search"),
        ("mcp__tracker__createIssue", "create"),
        ("functions.send_email", "send"),
        ("slack/chat.postMessage", "send"),
        ("Stripe.Refunds.Create", "create"),
        ("advance_opportunity", "update"),
        ("offboard_employee", "delete"),
        ("reserve_seat", "book"),
        ("void_purchase", "cancel"),
        ("vcs.check_in_changes", "move"),
        ("order_status", "read"),
        ("transfer_status", "read"),
        ("update_status", "update"),
        ("share_profile", "send"),
        ("price_log", "read"),
        ("browser_click", "run"),
        ("frobnicate", ""),
    ],
)
def test_the_verb_is_found_wherever_it_stands(tool: str, action: str) -> None:
    """Namespaces, camel case, kebab case and synonyms change nothing; a name that ends in "status" looks."""
    found, _ = name_action(tool)
    assert (found.name if found else "") == action


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("enviar_correo", "send"),
        ("rechnung_erstellen", "create"),
        ("datei_löschen", "delete"),
        ("réserver_vol", "book"),
        ("atualizar_cadastro", "update"),
        ("sakujo_file", "delete"),
        ("tuikuan", "refund"),
    ],
)
def test_verbs_of_other_languages_are_known(tool: str, action: str) -> None:
    """A name may be Spanish, German, French, Portuguese, or romanised Japanese or Chinese; accents do not matter."""
    found, _ = name_action(tool)
    assert found is not None
    assert found.name == action


@pytest.mark.parametrize(
    ("tool", "arguments", "action", "targets"),
    [
        ("execute", {"action": "delete_user", "params": {"user_id": "u_7"}}, "delete", ("u_7",)),
        ("invoke_tool", {"tool_name": "crm.update_contact", "args": {"id": "C-1"}}, "update", ("c-1",)),
        ("call_api", {"endpoint": "/v1/refunds", "body": {"amount": 3}}, "create", ("/v1/refunds",)),
        ("call_api", {"endpoint": "/v1/refunds/9"}, "read", ("/v1/refunds/9",)),
        ("graphql", {"query": 'mutation { deleteUser(id: "u_7") { id } }'}, "delete", ()),
        ("graphql", {"query": "query { user(id: 7) { id } }"}, "search", ()),
        ("run_report", {"name": "sales"}, "run", ("sales",)),
    ],
)
def test_a_vague_tool_tells_its_deed_by_its_arguments(
    tool: str, arguments: dict[str, object], action: str, targets: tuple[str, ...]
) -> None:
    """execute, invoke and call_api do what an argument says; where none says it, they only run something."""
    found = operation(tool, arguments)
    assert (found.action, found.targets) == (action, targets)


def test_vague_names_and_names_that_hand_in() -> None:
    """A tool that takes any deed is vague; one that only gives the answer does nothing."""
    assert is_vague("call_api")
    assert not is_vague("refund_payment")
    assert hands_in("functions.final_answer")
    assert not hands_in("answer_ticket")


def test_a_command_tells_all_its_steps() -> None:
    """One shell line that commits and pushes is both."""
    found = operation("bash", {"command": "git add -A && git commit -m x && git push"})
    assert {"git", "commit", "push"} <= set(found.objects)


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("mail_search", "search"),
        ("order_list", "read"),
        ("post_message", "send"),
        ("quote_set_margin", "update"),
        ("data_set_list", "read"),
        ("exchange_rate", "read"),
        ("exchange_item", "refund"),
    ],
)
def test_a_noun_is_no_verb_because_it_may_be_one(tool: str, action: str) -> None:
    """The word that looks at the end of a name is its verb where the first is a thing; "set" in its middle is one."""
    found, _ = name_action(tool)
    assert found is not None
    assert found.name == action


@pytest.mark.parametrize(
    ("tool", "looks"),
    [
        ("weather", True),
        ("harbour.tides", True),
        ("horario_tren", True),
        ("zaiko", True),
        ("zaiko_hikiate", False),
        ("kiln_glaze", False),
        ("f_2", False),
        ("release_seats", False),
    ],
)
def test_names_of_what_is_looked_up(tool: str, looks: bool) -> None:
    """A name without a verb that is only that of something to look up; the head of a name decides."""
    assert looks_up(tool) is looks
