"""overclaim."""
