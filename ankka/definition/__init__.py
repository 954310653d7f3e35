"""Decorated classes to frozen definitions; all problems of a class reported together.

marks         @command, @query, @step: they only mark
component     what all component classes share: identity, state and context while a handler runs
settings      timeouts, retries, failover, checked where they are made
collect       the marked methods of a class, inherited ones too
hints         annotations, with type variables filled in; what is not known yet
signatures    a method's input and reply
targets       literal step names in the source
flow          targets and settings against the declared steps; each step's own limits
build         a class to its definition, or to all that is wrong with it (`problems`)
definitions   the frozen results; `declaration` makes of them what the sidecar is told
graph         the steps as a graph
"""
