from stepwell.models import resolve_model

__all__ = ["resolve_model"]
