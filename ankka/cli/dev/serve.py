"""Runs `MODULE:SERVICE` as a program of its own: `python -m ankka.cli.dev.serve MODULE SERVICE`."""

import importlib
import sys
import traceback

from ankka.service import ServiceBuilder

NO_SERVICE = 78
"""The exit code when the module has no such service (BSD's EX_CONFIG); a module that cannot be imported ends with 1."""


def main(module_name: str, service_name: str) -> int:
    """Import the module and run its service."""
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever importing the user's module raises
        # Without the frames of this module and of importlib: the first line is in the user's file.
        trace = error.__traceback__
        while trace is not None and (trace.tb_frame.f_code.co_filename == __file__ or "importlib" in trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        sys.stderr.write("".join(traceback.format_exception(type(error), error, trace)))
        return 1
    service: object = module
    for part in service_name.split("."):
        service = getattr(service, part, None)
    if not isinstance(service, ServiceBuilder):
        sys.stderr.write(f"ankka: {_not_a_service(module_name, service_name, service, vars(module))}\n")
        return NO_SERVICE
    service.start()
    return 0


def _not_a_service(module: str, name: str, found: object, names: dict[str, object]) -> str:
    services = [f"{module}:{known}" for known, value in names.items() if isinstance(value, ServiceBuilder)]
    what = f"{module} has no {name!r}" if found is None else f"{module}:{name} is a {type(found).__name__}, not a service"
    there = f"it has {', '.join(services)}" if services else f"write in it: {name} = Ankka.service().register(YourWorkflow)"
    return f"{what}; {there}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
