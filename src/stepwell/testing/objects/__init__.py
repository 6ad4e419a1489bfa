"""An object store for tests, on a loopback port: Google Cloud Storage's XML and JSON APIs, with real preconditions and real faults.

`server` is what a test starts; `contents` has the objects and the rules of the store; `xml_api` and `json_api` are its two APIs;
`faults` decides what goes wrong, and when.
"""

from stepwell.testing.objects.faults import Fault, Faults
from stepwell.testing.objects.server import FakeObjectStore

__all__ = ["FakeObjectStore", "Fault", "Faults"]
