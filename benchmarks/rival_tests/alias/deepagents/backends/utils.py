from stepwell.backends.permissions import anchor as _glob_anchor
from stepwell.backends.permissions import overlap as _paths_overlap

__all__ = ["_glob_anchor", "_paths_overlap"]
