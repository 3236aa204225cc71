"""`python -m fleetbeat`."""

from __future__ import annotations

import sys

from fleetbeat.cli import main

sys.exit(main())
