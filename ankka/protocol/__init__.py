"""What the process and the sidecar say to each other: data and its encoding, nothing else.

Both sides import this package; it imports nothing of ours. Frames are msgspec structs (`frames`), grouped into
messages by `wire`; what a process declares is in `spec`; ids, error codes and the lifecycle view have a module each.
"""
