"""The console: one page over the HTTP API, for looking. Whatever users wrote is shown as text, never as markup."""
