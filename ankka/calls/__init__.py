"""The calls a component client makes: what is said on the wire, in string form and typed by a class's handlers."""
