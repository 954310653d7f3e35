"""Samples: small services that show how a thing is done, each with its tests."""
