"""Build the documentation site into build/docs: pages that can be searched offline, llms.txt and llms-full.txt.

Warnings of Sphinx are errors, and so is a page that would load anything from another address.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from docs_site.llms import write_llms
from docs_site.remote import remote_resources
from docs_site.staging import stage

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"


def build() -> int:
    """The exit code: 0, or 1 with a sentence on stderr."""
    source, site = BUILD / "docs-source", BUILD / "docs"
    icon = ROOT / "web/public/page/icon.svg"
    kinds = stage(ROOT, (HERE / "front.md").read_text(encoding="utf-8"), source)
    settings = BUILD / "docs-settings"
    shutil.copytree(HERE / "static", settings / "static", dirs_exist_ok=True)
    shutil.copyfile(icon, settings / "static/icon.svg")
    shutil.copyfile(HERE / "conf.py", settings / "conf.py")
    jobs = str(os.cpu_count() or 1)
    options = ["-q", "-W", "--keep-going", "-n", "-j", jobs, "-b", "html", "-c", str(settings), "-d", str(BUILD / "docs-cache")]
    if code := sphinx([*options, str(source), str(site)]):
        return code
    write_llms(kinds, source, site)
    if remote := remote_resources(site):
        print("These pages load something from another address:", *remote, sep="\n  ", file=sys.stderr)
        return 1
    print(f"Built {site.relative_to(ROOT)}/index.html and {len(list(site.rglob('*.html'))) - 1} more pages.")
    return 0


if __name__ == "__main__":
    sys.exit(build())
