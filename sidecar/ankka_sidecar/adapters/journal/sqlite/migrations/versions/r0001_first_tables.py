"""The first tables."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_STATEMENTS = (
    """CREATE TABLE journal (
    component TEXT NOT NULL COLLATE BINARY,
    instance TEXT NOT NULL COLLATE BINARY,
    generation INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state_sequence INTEGER,
    effect INTEGER NOT NULL,
    at INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    type TEXT NOT NULL,
    content_type TEXT NOT NULL,
    manifest TEXT NOT NULL,
    schema TEXT NOT NULL,
    trace TEXT,
    "key" BLOB,
    fingerprint BLOB,
    event BLOB NOT NULL,
    record BLOB NOT NULL,
    reply BLOB,
    payload BLOB
)""",
    "CREATE UNIQUE INDEX journal_place ON journal (generation, component, instance, sequence)",
    "CREATE INDEX journal_generation ON journal (component, instance, generation, sequence, type) WHERE sequence = 1 OR type = 'deleted'",
    'CREATE UNIQUE INDEX journal_key ON journal ("key") WHERE "key" IS NOT NULL',
    """CREATE TABLE instance (
    component TEXT NOT NULL COLLATE BINARY,
    instance TEXT NOT NULL COLLATE BINARY,
    generation INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    deadline INTEGER,
    step TEXT,
    failure TEXT,
    run INTEGER NOT NULL,
    PRIMARY KEY (component, instance)
)""",
    "CREATE INDEX instance_deadline ON instance (deadline) WHERE deadline IS NOT NULL",
    "CREATE INDEX instance_running ON instance (component, instance) WHERE status = 'Running'",
    "CREATE INDEX instance_paused ON instance (component, instance) WHERE status = 'Paused'",
    "CREATE INDEX instance_deleted ON instance (updated_at) WHERE status = 'deleted'",
    """CREATE TABLE snapshot (
    component TEXT NOT NULL COLLATE BINARY,
    instance TEXT NOT NULL COLLATE BINARY,
    generation INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    payload BLOB NOT NULL,
    content_type TEXT NOT NULL,
    manifest TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (component, instance, generation)
)""",
    """CREATE TABLE shard (
    shard INTEGER PRIMARY KEY,
    owner TEXT,
    epoch INTEGER NOT NULL
)""",
    """CREATE TABLE node (
    incarnation TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL,
    expiry INTEGER,
    dead INTEGER NOT NULL,
    version TEXT NOT NULL,
    address TEXT NOT NULL,
    processes TEXT NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE schema (
    number INTEGER PRIMARY KEY,
    component TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    first_seen INTEGER NOT NULL,
    UNIQUE (component, fingerprint)
)""",
    """CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID""",
)


def upgrade() -> None:
    """Make them."""
    for statement in _STATEMENTS:
        op.execute(statement)
