"""Shows people what a generation did: an HTML page that needs no network, and the end table of a run.

Reads records and decides nothing. It must not know stores, trackers or models. Text from models, documents and banks is
hostile: the page escapes it and forbids scripts, the terminal shows it without control characters.
"""
