"""`python -m rsi`: the same as the command `rsi`."""

from rsi.cli import main

main()
