"""An application that hosts a service."""
