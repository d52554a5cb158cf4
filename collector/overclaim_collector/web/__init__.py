"""The HTTP server and what it answers beside OTLP."""
