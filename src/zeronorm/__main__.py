"""`python -m zeronorm` is the command `zeronorm`."""

from .cli import main

main()
