"""One command from a program of its own: `python -m …ask URL COMPONENT ID HANDLER INPUT`."""

import sys

import httpx

if __name__ == "__main__":
    url, component, instance, handler, given = sys.argv[1:]
    answer = httpx.post(f"{url}/v1/{component}/{instance}/{handler}", json=given, timeout=30)
    sys.exit(0 if answer.is_success else 1)
