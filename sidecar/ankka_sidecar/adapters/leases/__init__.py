"""Leases that need no database; a database's leases live beside its journal, because they share its writer."""
