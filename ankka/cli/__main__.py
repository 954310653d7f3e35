"""`python -m ankka.cli`: the command `ankka`, where its script is not on the path."""

import sys

from ankka.cli import main

sys.exit(main())
