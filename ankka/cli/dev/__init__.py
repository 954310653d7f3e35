"""`ankka dev`: a sidecar that stays, and a process that is started anew whenever a file changes."""
