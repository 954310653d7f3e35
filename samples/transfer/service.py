"""The components of the transfer service, for whoever runs it: `__main__.py` alone, `app.py` within an application."""

from ankka.service import Ankka
from samples.transfer.wallet import WalletEntity
from samples.transfer.workflow import TransferWorkflow

service = Ankka.service().register(TransferWorkflow).register(WalletEntity)
