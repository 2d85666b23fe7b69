"""The HCP document: parsing, identity, typed edits, differences and their risk.

Pure: knows no model, sandbox, task or score. A document is hostile until a person has read it: nothing here runs
or fetches anything that it names.
"""

from rsi.hcp.check import check
from rsi.hcp.document import Document, load, parse

__all__ = ["Document", "check", "load", "parse"]
