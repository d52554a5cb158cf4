"""The pages for people, at the address of the server."""
