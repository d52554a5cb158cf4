"""What other instrumentors call things: the one table, a row for each convention.

For each meaning a row lists names of attributes, the most precise first. Rows come in the order in which they are
believed where a span carries several; that is the standard first. `dialects.py` reads spans by the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from overclaim import _attributes as names


class Role(Enum):
    """What a span stands for."""

    AGENT = auto()
    TOOL = auto()
    MODEL = auto()
    CLAIM = auto()
    OTHER = auto()


Keys = tuple[str, ...]
_MODEL = ("chat", "generate_content", "text_completion", "fetch_response")
_NO_ROLES: Mapping[str, Role] = {}
MCP_METHOD = "mcp.method.name"
TOOLS_CALL = "tools/call"


@dataclass(frozen=True, slots=True)
class Convention:
    """What one instrumentor calls things.

    kind, roles: an attribute and what its values (lower case) mean. span_names: beginnings of span names that tell it
    where no attribute does. failed: attributes that say the tool failed, whatever the status, with their values.
    task_answer: on a step right under an agent. tokens_in, tokens_out: of one call of a model.
    trace_name: what names the whole trace, in want of an agent.
    prompt_name, prompt_version: of a prompt that is kept under version control; instructions: the text itself.
    release: version of the program; agent_version, tool_version: of a part of it.
    """

    name: str
    kind: str = ""
    roles: Mapping[str, Role] = field(default_factory=lambda: _NO_ROLES)
    span_names: tuple[tuple[str, Role], ...] = ()
    tool: Keys = ()
    described: Keys = ()
    call_id: Keys = ()
    arguments: Keys = ()
    result: Keys = ()
    answer: Keys = ()
    task_answer: Keys = ()
    request: Keys = ()
    failed: tuple[tuple[str, frozenset[str]], ...] = ()
    agent: Keys = ()
    trace_name: Keys = ()
    model: Keys = ()
    provider: Keys = ()
    tokens_in: Keys = ()
    tokens_out: Keys = ()
    session: Keys = ()
    prompt_name: Keys = ()
    prompt_version: Keys = ()
    instructions: Keys = ()
    agent_version: Keys = ()
    tool_version: Keys = ()
    release: Keys = ()
    environment: Keys = ()


CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "OpenTelemetry GenAI",
        kind=names.GEN_AI_OPERATION,
        roles={"execute_tool": Role.TOOL, "invoke_agent": Role.AGENT, "invoke_workflow": Role.AGENT}
        | dict.fromkeys(_MODEL, Role.MODEL),
        span_names=(
            ("execute_tool ", Role.TOOL),
            ("invoke_agent", Role.AGENT),
            ("invoke_workflow", Role.AGENT),
        ),
        tool=(names.GEN_AI_TOOL_NAME,),
        described=("gen_ai.tool.description",),
        call_id=(names.GEN_AI_TOOL_CALL_ID,),
        arguments=(names.GEN_AI_TOOL_ARGUMENTS,),
        result=(names.GEN_AI_TOOL_RESULT,),
        answer=(names.GEN_AI_OUTPUT_MESSAGES,),
        request=("gen_ai.input.messages",),
        failed=(("gen_ai.tool.status", frozenset({"error"})),),  # Strands
        agent=(names.GEN_AI_AGENT_NAME, "gen_ai.workflow.name"),
        model=(names.GEN_AI_REQUEST_MODEL, "gen_ai.response.model"),
        provider=("gen_ai.provider.name",),
        tokens_in=("gen_ai.usage.input_tokens",),
        tokens_out=("gen_ai.usage.output_tokens",),
        session=("gen_ai.conversation.id",),
        prompt_name=("gen_ai.prompt.name",),
        prompt_version=("gen_ai.prompt.version",),
        instructions=("gen_ai.system_instructions",),
        agent_version=(names.GEN_AI_AGENT_VERSION,),
        tool_version=("gen_ai.tool.version", "mcp.server.version"),  # not in the standard, but where it would stand
    ),
    Convention(
        "Pydantic AI",
        span_names=(("running tool", Role.TOOL), ("agent run", Role.AGENT)),
        arguments=("tool_arguments",),
        result=("tool_response",),
        answer=("final_result", "pydantic_ai.all_messages"),
        agent=("agent_name",),
        model=("model_name",),
        tokens_in=("gen_ai.aggregated_usage.input_tokens",),  # on agents: of all calls together
        tokens_out=("gen_ai.aggregated_usage.output_tokens",),
    ),
    Convention(
        "OpenInference",
        kind="openinference.span.kind",
        roles={"tool": Role.TOOL, "agent": Role.AGENT, "llm": Role.MODEL},
        tool=("tool.name", "tool_call.function.name"),
        described=("tool.description",),
        call_id=("tool.id", "tool_call.id", "message.tool_call_id"),
        arguments=("input.value",),
        result=("output.value",),
        answer=("output.value",),
        request=("input.value",),
        agent=("agent.name", "graph.node.id"),
        model=("llm.model_name", "llm.request.model_name", "llm.response.model_name"),
        provider=("llm.provider", "llm.system"),
        tokens_in=("llm.token_count.prompt",),
        tokens_out=("llm.token_count.completion",),
        session=("session.id",),
        prompt_name=("prompt.id",),
        prompt_version=("llm.prompt_template.version",),
    ),
    Convention(
        "OpenLLMetry",
        kind="traceloop.span.kind",
        roles={"tool": Role.TOOL, "agent": Role.AGENT, "workflow": Role.AGENT},
        tool=("traceloop.entity.name",),
        arguments=("traceloop.entity.input", "gen_ai.task.input", "mcp.request.argument"),
        result=("traceloop.entity.output", "gen_ai.task.output", "mcp.response.value"),
        answer=("traceloop.entity.output",),
        request=("traceloop.entity.input",),
        failed=(("gen_ai.task.status", frozenset({"failure"})),),
        agent=("traceloop.entity.name",),
        tokens_in=("llm.usage.prompt_tokens",),
        tokens_out=("llm.usage.completion_tokens",),
        session=("traceloop.association.properties.session_id", "traceloop.association.properties.thread_id"),
        prompt_name=("traceloop.prompt.key",),
        prompt_version=("traceloop.prompt.version", "traceloop.prompt.version_hash"),
        agent_version=("traceloop.entity.version",),
        tool_version=("traceloop.entity.version",),
    ),
    Convention(
        "Langfuse",
        kind="langfuse.observation.type",
        roles={"tool": Role.TOOL, "agent": Role.AGENT, "generation": Role.MODEL},
        arguments=("langfuse.observation.input",),
        result=("langfuse.observation.output",),
        answer=("langfuse.observation.output",),
        request=("langfuse.observation.input",),
        failed=(("langfuse.observation.level", frozenset({"error"})),),
        trace_name=("langfuse.trace.name",),
        model=("langfuse.observation.model.name",),
        tokens_in=("langfuse.observation.usage_details",),
        tokens_out=("langfuse.observation.usage_details",),
        session=("langfuse.session.id",),
        prompt_name=("langfuse.observation.prompt.name", "langfuse.prompt.name"),
        prompt_version=("langfuse.observation.prompt.version", "langfuse.prompt.version"),
        agent_version=("langfuse.version",),
        release=("langfuse.release",),
        environment=("langfuse.environment",),
    ),
    Convention(
        "Haystack",
        span_names=(
            ("haystack.agent.step.tool", Role.TOOL),
            ("haystack.agent.step.llm", Role.MODEL),
            ("haystack.agent.run", Role.AGENT),
        ),
        tool=("haystack.tool.name",),
        described=("haystack.tool.description",),
        arguments=("haystack.agent.step.tool.input",),
        result=("haystack.agent.step.tool.output",),
        answer=("haystack.agent.output", "haystack.agent.step.llm.output"),
        request=("haystack.agent.input",),
        failed=(("haystack.tool.error", frozenset({"true"})),),
    ),
    Convention(
        "MLflow",
        kind="mlflow.spanType",
        roles={"tool": Role.TOOL, "agent": Role.AGENT, "workflow": Role.AGENT}
        | dict.fromkeys(("chat_model", "llm"), Role.MODEL),
        tool=("mlflow.spanFunctionName",),
        call_id=("tool_call_id",),
        arguments=("mlflow.spanInputs",),
        result=("mlflow.spanOutputs",),
        answer=("mlflow.spanOutputs",),
        request=("mlflow.spanInputs",),
        model=("mlflow.llm.model",),
        provider=("mlflow.llm.provider",),
        tokens_in=("mlflow.chat.tokenUsage",),
        tokens_out=("mlflow.chat.tokenUsage",),
        session=("mlflow.trace.session",),
        prompt_version=("mlflow.linkedPrompts",),
    ),
    Convention(
        "AgentOps",
        kind="agentops.span.kind",
        roles={"tool": Role.TOOL, "llm": Role.MODEL} | dict.fromkeys(("agent", "workflow", "session"), Role.AGENT),
        arguments=("agentops.tool.input", "agentops.entity.input", "tool.parameters"),
        result=("agentops.tool.output", "agentops.entity.output", "tool.result"),
        answer=(
            "agentops.agent.output",
            "agentops.workflow.output",
            "agentops.session.output",
            "agentops.entity.output",
        ),
        task_answer=("agentops.task.output", "agentops.operation.output"),
        request=(
            "agentops.agent.input",
            "agentops.workflow.input",
            "agentops.session.input",
            "agentops.entity.input",
        ),
        failed=(("tool.status", frozenset({"error", "failed", "failure"})),),
        agent=("agentops.entity.name",),
        agent_version=("operation.version",),
        tool_version=("operation.version",),
    ),
    Convention(
        "Vercel AI SDK",
        kind="ai.operationId",
        roles={"ai.toolcall": Role.TOOL, "ai.generatetext": Role.AGENT, "ai.streamtext": Role.AGENT}
        | dict.fromkeys(("ai.generatetext.dogenerate", "ai.streamtext.dostream"), Role.MODEL)
        | dict.fromkeys(("ai.generateobject", "ai.streamobject"), Role.MODEL),  # these call no tools
        span_names=(
            ("ai.toolCall", Role.TOOL),
            ("ai.generateText.do", Role.MODEL),
            ("ai.streamText.do", Role.MODEL),
            ("ai.generateText", Role.AGENT),
            ("ai.streamText", Role.AGENT),
        ),
        tool=("ai.toolCall.name",),
        call_id=("ai.toolCall.id",),
        arguments=("ai.toolCall.args",),
        result=("ai.toolCall.result",),
        answer=("ai.response.text", "ai.result.text", "ai.response.object"),
        request=("ai.prompt", "ai.prompt.messages"),
        agent=("ai.telemetry.functionId",),
        model=("ai.model.id", "ai.response.model"),
        provider=("ai.model.provider",),
        tokens_in=("ai.usage.inputTokens", "ai.usage.promptTokens"),
        tokens_out=("ai.usage.outputTokens", "ai.usage.completionTokens"),
        session=("ai.telemetry.metadata.sessionId",),
    ),
    Convention(
        "LangSmith",
        kind="langsmith.span.kind",
        roles={"tool": Role.TOOL, "llm": Role.MODEL},
        arguments=("gen_ai.prompt",),
        result=("gen_ai.completion",),
        trace_name=("langsmith.trace.name",),
        model=("langsmith.metadata.ls_model_name",),
        provider=("langsmith.metadata.ls_provider",),
        session=("langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id"),
        prompt_name=("langsmith.metadata.lc_hub_repo",),
        prompt_version=("langsmith.metadata.lc_hub_commit_hash",),
        agent_version=("langsmith.metadata.revision_id",),
    ),
    Convention(
        "OpenTelemetry GenAI, older",
        answer=("gen_ai.completion",),
        request=("gen_ai.prompt",),
        provider=("gen_ai.system",),
        tokens_in=("gen_ai.usage.prompt_tokens",),
        tokens_out=("gen_ai.usage.completion_tokens",),
    ),
    Convention("MCP", kind=MCP_METHOD, roles={TOOLS_CALL: Role.TOOL}),
    Convention(
        "Logfire MCP",
        span_names=(("MCP request: tools/call ", Role.TOOL),),
        arguments=("request",),
        result=("response",),
    ),
)
# Attributes, then what their values (lower case) mean: of the first that tells a role, it counts.
ROLE_ATTRIBUTES = tuple((one.kind, one.roles) for one in CONVENTIONS if one.kind)
ROLE_NAMES = tuple(named for one in CONVENTIONS for named in one.span_names)


def keys(meaning: str) -> Keys:
    """All attributes of one meaning, by the conventions that know it, each once."""

    def of_all() -> Iterator[str]:
        for convention in CONVENTIONS:
            yield from getattr(convention, meaning)

    return tuple(dict.fromkeys(of_all()))
