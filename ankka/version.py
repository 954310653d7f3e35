"""The version of this distribution, kept equal to pyproject.toml by a test: reading the metadata costs start-up time."""

VERSION = "0.1.0.dev0"
SDK = f"ankka-python {VERSION}"
