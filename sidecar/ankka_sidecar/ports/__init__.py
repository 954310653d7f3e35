"""What the runtime needs from the outside, as protocols. Each docstring is a promise that a contract test holds."""
