"""The documentation runs: its Python in one process, its commands in a terminal."""
