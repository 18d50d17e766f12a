"""One file, one policy; the registry of all of them."""
