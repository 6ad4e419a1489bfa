"""`stepwell allowance set USER LIMIT` and `stepwell allowance show USER`, for operators: they open the database directly."""

from stepwell.terminal.commands import add_database


def add_commands(commands):
    text = "runs that a user may start per day"
    actions = commands.add_parser("allowance", help=text, description=text).add_subparsers(metavar="ACTION", required=True)
    for name, help_text in (("set", "change a user's limit"), ("show", "show a user's count of today, and the limit")):
        action = actions.add_parser(name, help=help_text, description=help_text)
        action.add_argument("user", metavar="USER", help="as in `stepwell keys create --user`; `local` without sign-in")
        if name == "set":
            action.add_argument("limit", metavar="LIMIT", type=int, help="runs per day; 0 for none")
        add_database(action)
        action.set_defaults(run=run_allowance, limit=None)


def run_allowance(arguments):
    from stepwell.errors import InvalidRequestError
    from stepwell.settings import Settings
    from stepwell.terminal.database_file import require_database, with_database
    from stepwell_allowance import tables

    user, limit, day = arguments.user, arguments.limit, tables.today()
    if limit is not None and not 0 <= limit <= 1_000_000:
        raise InvalidRequestError("LIMIT is a whole number from 0 to 1000000.")
    place = require_database(arguments.database_url, Settings.load())
    if limit is None:
        found = with_database(place, lambda database: database.read(lambda c: tables.read_allowance(c, user, day)))
    else:
        found = with_database(place, lambda database: database.write(lambda c: tables.set_limit(c, user, day, limit)))
    print(f"{user}: {found['started']} of {found['limit']} runs started today ({day}, UTC)")
    return 0
