"""Findings go out: as OTLP events and metrics, and to a webhook. Off by default."""
