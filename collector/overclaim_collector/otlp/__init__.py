"""OTLP requests: bytes in, what goes into the store out."""
