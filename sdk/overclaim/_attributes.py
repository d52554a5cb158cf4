"""Attribute names, one constant each.

The `overclaim.*` namespace is ours. The `gen_ai.*` names follow the OpenTelemetry GenAI conventions; they are
written here because those conventions are still in development and their constants move between packages.
"""

from __future__ import annotations

from typing import Final

CLAIMED_OUTCOME: Final = "overclaim.claimed.outcome"
CLAIMED_SOURCE: Final = "overclaim.claimed.source"
OBSERVED_OUTCOME: Final = "overclaim.observed.outcome"
OBSERVED_GRADE: Final = "overclaim.observed.grade"

CLAIM_OUTCOME: Final = "overclaim.claim.outcome"
CLAIM_ACTION: Final = "overclaim.claim.action"
CLAIM_TARGETS: Final = "overclaim.claim.targets"
CLAIM_QUANTITY: Final = "overclaim.claim.quantity"
CLAIM_TEXT_SHA256: Final = "overclaim.claim.text.sha256"  # keyed
CLAIM_TEXT: Final = "overclaim.claim.text.content"  # only where content may leave

EVIDENCE_KIND: Final = "overclaim.evidence.kind"
EVIDENCE_RULE: Final = "overclaim.evidence.rule"
EVIDENCE_VALUE: Final = "overclaim.evidence.value"
EVIDENCE_SPAN_IDS: Final = "overclaim.evidence.span_ids"

CALL_OPERATION: Final = "overclaim.call.operation"
CALL_TARGETS: Final = "overclaim.call.targets"
CALL_EFFECT: Final = "overclaim.call.effect"
CALL_ARGS_SHAPE: Final = "overclaim.call.args_shape"
CALL_RESULT_SHAPE: Final = "overclaim.call.result_shape"
CALL_PREVIOUS_TOOL: Final = "overclaim.call.previous_tool"
CALL_SPAN_ID: Final = "overclaim.call.span_id"  # of the span that stands for the same call, where there are several

RUN_ID: Final = "overclaim.run.id"
RUN_SPAN_ID: Final = "overclaim.run.span_id"
# On an agent span: how many calls, left off where a call that a claim lacks need not have shown; how many spans the
# run made, left off where something of it was missed. Readers take that for "not watched" and "not complete".
RUN_CALLS: Final = "overclaim.run.calls"
RUN_FAILED_CALLS: Final = "overclaim.run.failed_calls"
RUN_SPANS: Final = "overclaim.run.spans"

VERDICT_LABEL: Final = "overclaim.verdict.label"
VERDICT_CONFIDENCE: Final = "overclaim.verdict.confidence"
VERDICT_RULE: Final = "overclaim.verdict.rule"

# On the events by which findings go out.
FINDING_ID: Final = "overclaim.finding.id"
FINDING_VERSION: Final = "overclaim.finding.version"
FINDING_STATE: Final = "overclaim.finding.state"
FINDING_SEVERITY: Final = "overclaim.finding.severity"

CLAIM_SPAN_NAME: Final = "overclaim.claim"
MAX_EVIDENCE: Final = 16

GEN_AI_OPERATION: Final = "gen_ai.operation.name"
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_TOOL_TYPE: Final = "gen_ai.tool.type"
GEN_AI_TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
GEN_AI_TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_RESULT: Final = "gen_ai.tool.call.result"
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
GEN_AI_AGENT_VERSION: Final = "gen_ai.agent.version"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
GEN_AI_EVALUATION: Final = "gen_ai.evaluation.result"  # an event
GEN_AI_EVALUATION_NAME: Final = "gen_ai.evaluation.name"
GEN_AI_EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
GEN_AI_EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
GEN_AI_EVALUATION_WHY: Final = "gen_ai.evaluation.explanation"
ERROR_TYPE: Final = "error.type"
