"""A checkout that reserves a cart, charges it, and compensates when the charge is declined."""
