"""A money transfer between two wallets that puts the money back if it cannot be deposited, behind a FastAPI application."""
