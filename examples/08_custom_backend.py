"""A backend of your own: verbs over files. Here two of them are another backend's, with a journal of every write and edit.

The suite of Stepwell's own backends proves yours; docs/how-to/write-a-backend.md runs it, on a backend written from nothing.
"""

import tempfile

from stepwell import FilesystemBackend, create_deep_agent


class Journaled(FilesystemBackend):  # it is a SyncBackend, which derives the async form of each verb
    journal = ()

    def write(self, file_path, content, **options):
        return self._noted(super().write(file_path, content, **options), "", content)

    def edit(self, file_path, old_string, new_string, replace_all=False, **options):
        return self._noted(super().edit(file_path, old_string, new_string, replace_all, **options), old_string, new_string)

    def _noted(self, result, old, new):
        if result.error is None:  # failures are results, too: a verb never raises for what a model can type
            self.journal += ((result.path, old, new),)
        return result


def main(model=None):
    with tempfile.TemporaryDirectory() as folder:
        backend = Journaled(folder)
        agent = create_deep_agent(model, backend=backend)
        request = "Write a haiku about wells into /haiku.txt, then make one word of it better with edit_file."
        print(agent.invoke({"messages": [("user", request)]})["messages"][-1].text)
    for path, old, new in backend.journal:
        print(f"--- {path}\n- {old!r}\n+ {new!r}")


if __name__ == "__main__":
    from start import start

    start(main)
