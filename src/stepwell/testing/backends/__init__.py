"""What every backend must do, as tests.

`conformance` says how to make a suite for your backend; `case` has the hooks it may override; the other modules have the tests, by verb.
"""

from stepwell.testing.backends.case import BackendCase, Verbs
from stepwell.testing.backends.conformance import BackendConformance
from stepwell.testing.backends.paths import NASTY_PATHS

__all__ = ["NASTY_PATHS", "BackendCase", "BackendConformance", "Verbs"]
