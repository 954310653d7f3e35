"""Migrations of older databases, the only code that imports Alembic and SQLAlchemy.

Each revision only adds. A new one is a file in `versions`, a line in `REVISIONS`, and the same change in `schema.sql`.
"""

import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.pool import StaticPool


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring the database behind `connection`, whose lock is held, to the newest revision; all or nothing."""
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)

    # SQLite's tables change inside transactions, but Python's driver begins none by itself in autocommit mode.
    def begin(open_connection: Connection) -> None:
        open_connection.exec_driver_sql("BEGIN IMMEDIATE")

    event.listen(engine, "begin", begin)
    with engine.begin() as transaction:
        config = script_config()
        config.attributes["connection"] = transaction
        command.upgrade(config, "head")


def script_config() -> Config:
    """Alembic's configuration: where the revisions are."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
