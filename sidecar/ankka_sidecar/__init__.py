"""The runtime: hosts workflow and entity instances as single-writer, event-sourced actors over a journal."""
