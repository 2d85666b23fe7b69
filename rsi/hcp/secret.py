"""Texts that look like secrets: keys of known services, credentials in URLs, signed parameters."""

import re

_SECRET = re.compile(
    r"(?i)(sk-|ghp_|gho_|xox[abp]-|AKIA|eyJ)[\w.-]{8,}|://[^/@\s]+@|"
    r"((?:api_?key|token|secret|password|signature|sig)=)[^&\s]+"
)


def redact(text: str) -> str:
    """The text with what looks like a secret masked: keys, credentials in URLs, signed parameters."""
    return _SECRET.sub(lambda found: "://[redacted]@" if "://" in found[0] else f"{found[2] or ''}[redacted]", text)
