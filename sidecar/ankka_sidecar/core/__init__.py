"""The pure core: what an input leads to, decided without awaiting, reading a clock, logging or drawing randomness."""
