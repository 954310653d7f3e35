"""`python -m samples.transfer`: the service, without the application."""

from samples.transfer.service import service

if __name__ == "__main__":
    service.start()
