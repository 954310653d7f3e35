"""The journal's adapters, and what they share: addresses, opening errors and the cursors of listings."""
