"""What survives kill -9: of the sidecar, of the process, of both."""
