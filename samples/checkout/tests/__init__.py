"""How the sample is tested: with the kits, without a sidecar, in milliseconds."""
