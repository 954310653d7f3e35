"""The ports' implementations: journals, leases, clocks, fault points. Only `ankka_sidecar.assembly` chooses among them."""
