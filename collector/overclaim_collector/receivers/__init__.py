"""How requests come in, over HTTP and gRPC, within limits, and how they are answered."""
