"""Benchmarks: real sidecar, real process, real journal with fsync on. They measure and compare; they assert no times."""
