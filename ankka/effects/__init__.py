"""Effects: what handlers return. Frozen data, made by builders, performed by nobody but the runtime."""
