"""Messages that several backends use, so that a model reads the same words everywhere."""

from __future__ import annotations

from stepwell.backends.paths import PathError, Place
from stepwell.backends.protocol import ErrorText

_NOT_TEXT = " is not a text file"


def no_file(path: str) -> ErrorText:
    folder = path[: path.rfind("/")] or "/"
    return PathError("Error: no file ", Place(path), ". List the folder with ls(", Place(folder), ").")


def no_whole_file(path: str) -> ErrorText:
    return unavailable(path, "its backend does not hand out whole files")


def no_folder(path: str) -> ErrorText:
    return PathError("Error: no folder ", Place(path), ". List the root with ls('/').")


def nothing_there(path: str) -> ErrorText:
    folder = path[: path.rfind("/")] or "/"
    return PathError("Error: no file or folder ", Place(path), ". List the folder with ls(", Place(folder), ").")


def moved_already(source: str, destination: str) -> ErrorText:
    return PathError(
        "Error: no file or folder ", Place(source), ", but ", Place(destination), " exists: it may have been moved already."
    )


def same_place(path: str) -> ErrorText:
    return PathError("Error: ", Place(path), " is both source and destination. Choose another destination.")


def into_itself(source: str, destination: str) -> ErrorText:
    return PathError(
        "Error: ",
        Place(source),
        " cannot be moved into itself, to ",
        Place(destination),
        ". Choose a destination outside of it.",
    )


def cannot_put_back(path: str) -> ErrorText:
    return PathError(
        "Error: ",
        Place(path),
        " cannot be replaced, because it is not a text that could be put back if the move fails. Delete it first.",
    )


def into_state(source: str, destination: str) -> ErrorText:
    return PathError(
        "Error: ",
        Place(source),
        " cannot be moved to ",
        Place(destination),
        ", because files there are stored only when the step has ended. Copy it with read_file and write_file, and delete the old one "
        "in a later step.",
    )


def taken(path: str) -> ErrorText:
    return PathError("Error: ", Place(path), " exists already. Choose another destination, or replace it with overwrite=true.")


def taken_by_folder(path: str) -> ErrorText:
    return PathError(
        "Error: ", Place(path), " is a folder, which is never replaced. Give the whole new path, or delete that folder first."
    )


def folder_over_file(path: str) -> ErrorText:
    return PathError("Error: ", Place(path), " is a file, and a folder cannot take its place. Choose another destination.")


def path_too_long(path: str) -> ErrorText:
    return PathError("Error: ", Place(path), " would be too long a path. Choose a shorter destination.")


def holds_mount(path: str, mount: str) -> ErrorText:
    return PathError(
        "Error: ",
        Place(path),
        " cannot be deleted or moved: other files are mounted at ",
        Place(mount),
        ". Name what is in it.",
    )


def cannot(verb: str, path: str) -> ErrorText:
    return PathError("Error: ", Place(path), f" is stored where nothing can be {verb}d. Go on without it.")


def is_folder(path: str) -> ErrorText:
    return PathError("Error: ", Place(path), " is a folder, not a file. List it with ls(", Place(path), ").")


def exists(path: str) -> ErrorText:
    return PathError("Error: ", Place(path), " exists already. Change it with edit_file, or replace it with overwrite=true.")


def below_file(path: str, parent: str) -> ErrorText:
    return PathError(
        "Error: ", Place(path), " cannot be created: ", Place(parent), " is a file, not a folder. Choose another folder."
    )


def conflict(path: str) -> ErrorText:
    return PathError(
        "Error: conflict: ",
        Place(path),
        " was changed by somebody else in the meantime. Read it again, then repeat the change.",
    )


def not_text(path: str, what: str = "") -> ErrorText:
    described = f" ({what})" if what else " (UTF-8)"
    return PathError("Error: ", Place(path), f"{_NOT_TEXT}{described}, so it cannot be shown or edited here.")


def says_not_text(error: ErrorText) -> bool:
    """Whether the error is `not_text`, also below a mount."""
    return _NOT_TEXT in error


def too_large(path: str, size: int, limit: int) -> ErrorText:
    return PathError(
        "Error: ", Place(path), f" has {size:,} bytes; at most {limit:,} can be read at once. Search it with grep instead."
    )


def forbidden(path: str) -> ErrorText:
    return PathError("Error: access to ", Place(path), " is not permitted. Choose another file.")


def unavailable(path: str, why: str) -> ErrorText:
    return PathError("Error: ", Place(path), f" could not be reached: {why}. Try again, or go on without it.")
