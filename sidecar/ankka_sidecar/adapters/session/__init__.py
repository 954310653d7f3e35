"""The session server: WebSocket connections of processes and clients."""
