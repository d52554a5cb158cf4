"""overclaim beside an OpenTelemetry set-up that is already there: one provider, two exporters, same spans.

python examples/existing_otel_stack.py [YOUR_OTLP_ENDPOINT OVERCLAIM_ENDPOINT]
Without endpoints both exporters write to the console.
"""

import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

import overclaim


def exporter(endpoint: str) -> SpanExporter:
    """OTLP to an endpoint, or a line per span on the console."""
    return OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces") if endpoint else ConsoleSpanExporter(formatter=line)


def line(span: ReadableSpan) -> str:
    """A span with what overclaim wrote on it."""
    labels = {name: value for name, value in (span.attributes or {}).items() if name.endswith(".outcome")}
    return f"{span.name:<24} {labels}\n"


def main() -> None:
    """Set OpenTelemetry up as usual; overclaim.instrument() finds that provider and uses it."""
    provider = TracerProvider(resource=Resource.create({"service.name": "mail-agent"}))
    for endpoint in sys.argv[1:3] or ("", ""):
        provider.add_span_processor(BatchSpanProcessor(exporter(endpoint)))
    trace.set_tracer_provider(provider)
    overclaim.instrument()
    work()
    provider.shutdown()


@overclaim.tool
def send_mail(to: str, subject: str) -> dict[str, object]:
    """A tool that reports a failure in its result, so that its span stays green."""
    return {"sent": 0, "failed": 1, "errors": [{"to": to, "code": 550, "message": "mailbox unavailable"}]}


def work() -> None:
    """A span of your own around the run of an agent."""
    with trace.get_tracer("mail").start_as_current_span("nightly"), overclaim.run("mailer") as run:
        send_mail("ann@shop.example", "Your invoice")
        run.answer("I sent the invoice to ann@shop.example.")


if __name__ == "__main__":
    main()
