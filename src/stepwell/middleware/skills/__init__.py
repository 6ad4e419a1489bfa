"""Skills: folders with instructions that an agent reads when a task needs them.

```
frontmatter   what a SKILL.md says about itself
plain_yaml    YAML without aliases
scan          finds skills in a backend, and reads what has changed
listing       the section of the system prompt
pins          skills that a run names, and the tools of skills
middleware    `SkillsMiddleware`
```
"""

from stepwell.middleware.skills.frontmatter import SkillMetadata
from stepwell.middleware.skills.listing import SkillSource
from stepwell.middleware.skills.middleware import SkillsMiddleware, SkillsState

__all__ = ["SkillMetadata", "SkillSource", "SkillsMiddleware", "SkillsState"]
