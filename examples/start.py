"""Starts an example: what is missing in the set-up is said in one sentence, without a traceback."""

import sys

from stepwell import ConfigurationError


def start(main):
    try:
        main()
    except ConfigurationError as error:
        sys.exit(str(error))
