"""The folder's own sidecar: started by the first process that needs one, joined by the others, healed, stopped by the last.

./.ankka/sidecar.json   where it listens; written by the sidecar (by rename) once it is ready, removed on clean exit
./.ankka/start.lock     held (flock) while a process joins, starts or stops it
./.ankka/sidecar.log    what it prints
./.ankka/journal.db     the journal
"""
