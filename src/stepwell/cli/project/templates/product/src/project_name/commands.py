"""`stepwell project-name USER [--most NUMBER]`, for operators: it opens the database directly."""

from stepwell.terminal.commands import add_database, whole_number


def add_commands(commands):
    text = "show how many runs a user has started, or limit them"
    command = commands.add_parser("project-name", help=text, description=text)
    command.add_argument("user", metavar="USER", help="as in `stepwell keys create --user`; `local` without sign-in")
    command.add_argument("--most", metavar="NUMBER", type=whole_number(0, 1_000_000), help="let the user start this many runs")
    add_database(command)
    command.set_defaults(run=run)


def run(arguments):
    from project_name import tables
    from stepwell.settings import Settings
    from stepwell.terminal.database_file import require_database, with_database

    user, most = arguments.user, arguments.most
    place = require_database(arguments.database_url, Settings.load())
    if most is None:
        found = with_database(place, lambda database: database.read(lambda connection: tables.read_count(connection, user)))
    else:
        found = with_database(
            place, lambda database: database.write(lambda connection: tables.set_most(connection, user, most))
        )
    print(f"{user}: {found['started']} runs started, {'any number' if found['most'] is None else found['most']} allowed")
    return 0
