"""The HTTP API: calls, instances, health. The hot route is bare ASGI; FastAPI is loaded when one of its routes is used."""
