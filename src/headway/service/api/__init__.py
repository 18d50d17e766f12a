"""The REST API: one file a noun."""
