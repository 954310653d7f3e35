"""`python -m samples.checkout`: the service."""

from ankka.service import Ankka
from samples.checkout.cart import ShoppingCartEntity
from samples.checkout.workflow import CheckoutWorkflow

service = Ankka.service().register(CheckoutWorkflow).register(ShoppingCartEntity)

if __name__ == "__main__":
    service.start()
