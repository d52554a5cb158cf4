"""cruxial: a claim without a call (`detect_bypass`), and its receipts replayed over the results."""

from cruxial.bypass import asserted_actions, detect_bypass
from cruxial.receipts import default_adapter, http_receipt

from .recorded import Call, Run, calls, final


def bypass(run: Run) -> bool:
    """Tell whether it sees a deed claimed that no tool did; on offer are the tools that the run knows."""
    called = [call.tool for call in calls(run)]
    tools = sorted({*called, *(run.get("tools") or ())})
    return detect_bypass(final(run), tool_calls_this_turn=[], tool_names=tools, called_tools=called) is not None


def receipts(run: Run) -> bool:
    """Tell whether a receipt is not in order and a deed is claimed: nearest to a verdict."""
    return any(not in_order(call) for call in calls(run)) and bool(asserted_actions(final(run)))


def in_order(call: Call) -> bool:
    """Return what its receipt says: the one for HTTP where there is a status, else the default."""
    value = call.value
    http = isinstance(value, dict) and isinstance(value.get("status_code"), int)
    return not call.failed and (http_receipt if http else default_adapter)(value).ok
