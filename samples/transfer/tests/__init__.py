"""How the sample is tested: with the kits, and as an application over a real sidecar."""
