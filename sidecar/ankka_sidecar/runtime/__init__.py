"""The runtime: a dull loop that takes an input, calls the core, performs the actions and feeds the results back."""
