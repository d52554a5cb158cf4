"""How what came in gets into the store, and on to others."""
