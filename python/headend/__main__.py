"""``python -m headend`` is the command line."""

from headend.cli.main import start

start()
