"""Their names for our skills. Where theirs are methods or return something else, the call is translated."""

from contextlib import contextmanager

from deepagents.middleware.foreign import translate
from deepagents.middleware.requests import modify
from stepwell import ConfigurationError
from stepwell import SkillsMiddleware as _SkillsMiddleware
from stepwell.backends.steps import arun_steps, run_steps
from stepwell.middleware.skills import SkillMetadata, SkillSource, listing, scan
from stepwell.middleware.skills.frontmatter import (
    MAX_COMPATIBILITY_CHARS as MAX_SKILL_COMPATIBILITY_LENGTH,
)
from stepwell.middleware.skills.frontmatter import (
    MAX_DESCRIPTION_CHARS as MAX_SKILL_DESCRIPTION_LENGTH,
)
from stepwell.middleware.skills.frontmatter import (
    MAX_FILE_BYTES as MAX_SKILL_FILE_SIZE,
)
from stepwell.middleware.skills.frontmatter import (
    SkillError,
    name_problem,
    parse_skill,
)
from stepwell.middleware.skills.frontmatter import (
    plain_metadata as _validate_metadata,
)
from stepwell.middleware.skills.listing import (
    MAX_WARNING_CHARS as MAX_SKILL_LOAD_WARNING_LENGTH,
)
from stepwell.middleware.skills.listing import (
    MAX_WARNINGS as MAX_SKILLS_LOAD_WARNINGS,
)
from stepwell.middleware.skills.listing import (
    notes_of as _format_skill_annotations,
)
from stepwell.middleware.source_files import Source, Work, _downloaded

__all__ = [
    "MAX_SKILLS_LOAD_WARNINGS",
    "MAX_SKILL_COMPATIBILITY_LENGTH",
    "MAX_SKILL_DESCRIPTION_LENGTH",
    "MAX_SKILL_FILE_SIZE",
    "MAX_SKILL_LOAD_WARNING_LENGTH",
    "SkillMetadata",
    "SkillSource",
    "SkillsMiddleware",
    "_format_skill_annotations",
    "_validate_metadata",
]


class SkillsMiddleware(_SkillsMiddleware):
    def __init__(self, *, backend, sources, **options):
        with their_errors():
            super().__init__(backend=translate(backend), sources=sources, **options)

    def before_agent(self, state, runtime, config=None):
        return super().before_agent(state, runtime)

    async def abefore_agent(self, state, runtime, config=None):
        return await super().abefore_agent(state, runtime)

    @property
    def _backend(self):
        return self.backend

    @property
    def sources(self):
        return [place.folder for place in self.places]

    @property
    def source_labels(self):
        return [place.label for place in self.places]

    def modify_request(self, request):
        return modify(self, request)

    def _format_skills_locations(self):
        return listing.write_locations(self.places)

    def _format_skills_list(self, skills):
        return listing.write_list(self.places, skills)

    def _format_skills_load_warnings(self, errors):
        return listing.write_warnings(errors)


@contextmanager
def their_errors():
    """Where we have one error for wrong arguments, they have Python's."""
    try:
        yield
    except ConfigurationError as error:
        kind = TypeError if "must be str or None" in str(error) or "tuple" in str(error) else ValueError
        raise kind(str(error)) from error


def _validate_skill_name(name, directory_name):
    problem = name_problem(name, directory_name)
    return problem is None, problem or ""


def _parse_skill_metadata(content, skill_path, directory_name):
    try:
        return parse_skill(content, skill_path)
    except SkillError:
        return None


def _skill_metadata_from_response(response, skill_dir_path, skill_md_path):
    steps = scan.scan(_Answered(response), [skill_dir_path])
    rows = [{"path": skill_md_path, "is_dir": False}]
    found = run_steps(steps, lambda step: step.function(*step.arguments) if isinstance(step, Work) else rows)
    return found.skills[0] if found.skills else None


class _Answered:
    def __init__(self, response):
        self.response = response

    def read(self, wanted):
        yield from ()
        return [_downloaded(path, self.response) for path in wanted]


def _list_skills(backend, source_path):
    source = Source(translate(backend), {}, None)
    return run_steps(scan.scan(source, [source_path]), source.perform).skills


async def _alist_skills(backend, source_path):
    source = Source(translate(backend), {}, None)
    return (await arun_steps(scan.scan(source, [source_path]), source.aperform)).skills
