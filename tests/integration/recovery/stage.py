"""A sidecar and a process over one journal, each killed and started as a test asks."""

from collections import Counter

from tests.integration.support.programs import Programs


class Stage:
    """Both run from the beginning on."""

    def __init__(self, programs: Programs, module: str, *options: str) -> None:
        self._programs = programs
        self._module = module
        self.folder = programs.folder
        self.sidecar = programs.sidecar(*options)
        self.process = programs.process(module, self.sidecar)

    def start_sidecar(self) -> None:
        """Start it again after its end, and wait until it listens."""
        self.sidecar = self._programs.again(self.sidecar)

    def start_process(self) -> None:
        """Start it again after its end, and wait until the sidecar is ready."""
        self.process = self._programs.process(self._module, self.sidecar)

    def runs(self) -> Counter[tuple[str, str]]:
        """How often each (instance, step) ran, by the ledger."""
        ledger = self.folder / "ledger.txt"
        lines = ledger.read_text().splitlines() if ledger.exists() else []
        return Counter((line.split()[0], line.split()[1]) for line in lines)
