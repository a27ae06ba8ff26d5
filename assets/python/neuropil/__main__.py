"""Runs the program: `python -m neuropil`."""

from .program import main

main()
