"""All tests, by how much of the real thing they use: unit, contract, integration, arch, benchmarks."""
