"""How values become bytes and come back: the implementation behind `ankka.codec`.

A type is compiled once into a tree of plans (`plan`). A plan can prove that a value will come back equal (`check`),
turn it into what msgspec writes (`lower`), and build it from parsed JSON (`lift`). Where msgspec can read a type by
itself it does; the plans are for what it cannot (unions of dataclasses, Pydantic models) and for saying what is wrong.

    annotation ──compiling──► Plan ──engine──► bytes
                               ├ scalars, choices (enums, literals), containers, mappings
                               ├ records (dataclasses, structs, typed dicts), models (Pydantic)
                               └ unions
"""
