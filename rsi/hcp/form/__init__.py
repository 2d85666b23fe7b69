"""The part of an HCP document that this harness realises, in the document's own shape.

Each model names the keys it reads; other keys stay in the document untouched (`rsi.hcp.check` lists them). Problems
carry the document's own key path, since the models have its shape.
"""

from rsi.hcp.form.whole import SHELL_NAMES, TOOLS, Form

__all__ = ["SHELL_NAMES", "TOOLS", "Form"]
