"""Their names for our rubric. They want a model always; a name that their tests replace here is replaced where ours is used."""

import logging
import sys
from types import ModuleType

import deepagents._models as _models
from stepwell import ConfigurationError, models
from stepwell.middleware.rubric import GraderResponse, RubricEvaluation, grader, middleware
from stepwell.middleware.rubric import RubricMiddleware as _RubricMiddleware
from stepwell.middleware.rubric.grader import create_agent
from stepwell.middleware.rubric.transcript import SOURCE as RUBRIC_GRADER_MESSAGE_SOURCE
from stepwell.middleware.rubric.transcript import escape_closing as _sanitize_for_payload
from stepwell.middleware.rubric.transcript import write_transcript as _build_grader_transcript

__all__ = [
    "RUBRIC_GRADER_MESSAGE_SOURCE",
    "GraderResponse",
    "RubricEvaluation",
    "RubricMiddleware",
    "_build_grader_transcript",
    "_sanitize_for_payload",
    "create_agent",
]


class RubricMiddleware(_RubricMiddleware):
    def __init__(self, *, model, max_iterations=3, **options):
        if not model:
            raise ValueError("`model` is required")
        try:
            super().__init__(model=model, max_iterations=max_iterations, **options)
        except ConfigurationError as error:
            kind = ValueError if type(max_iterations) is int else TypeError
            raise kind(str(error)) from error


class _Forwarding(ModuleType):
    def __setattr__(self, name, value):
        if name == "create_agent":  # what their tests put here takes exactly their arguments; our judge has middleware besides
            grader.create_agent = lambda *, middleware, **options: value(**options)
        elif hasattr(grader, name):
            setattr(grader, name, value)
        super().__setattr__(name, value)


class _ForwardingModels(ModuleType):
    def __setattr__(self, name, value):
        setattr(models, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Forwarding
_models.__class__ = _ForwardingModels
middleware._log = logging.getLogger(__name__)
