"""Where a served model is and how it is reached: URL, key and proxy. Says what may be shown of them.

A URL may hold a password or a token, a key and a proxy are secrets: messages name where they come from, never a value.
"""

import ipaddress
import os
import re
import urllib.request
from collections.abc import Collection
from dataclasses import dataclass

import httpx

from rsi.errors import UserError
from rsi.text import show_url

PROXIES = ("http", "https", "socks5", "socks5h")


@dataclass(frozen=True)
class Address:
    """`model` is the name after "#", or empty. `shown` is the URL as messages may say it."""

    url: httpx.URL
    model: str
    shown: str

    def at(self, path: str) -> httpx.URL:
        """The URL of `path` ("/models"); a query stays behind it."""
        return self.url.copy_with(path=self.url.path.rstrip("/") + path)


def parse_address(text: str) -> Address:
    """UserError where `text` is no URL of a server."""
    address, _, model = text.partition("#")
    shown = show_url(address)
    if (url := parse_server(address, ("http", "https"))) is None:
        raise UserError(f"model: '{shown}' is not a URL; give http(s)://host:port/v1")
    return Address(url, model, shown)


def parse_server(text: str, schemes: Collection[str]) -> httpx.URL | None:
    """The URL of a server that is reached by one of `schemes`; None where `text` is none."""
    try:
        url = httpx.URL(text.strip())
        known = url.scheme in schemes and not re.search(r"[%\s\[\]]", url.host)
        return url if known and url.host and (url.port is None or 0 < url.port < 65536) else None
    except (httpx.InvalidURL, ValueError, TypeError):
        return None


def read_key(variable: str | None) -> str | None:
    """The key that `variable` holds, without white space at its ends. UserError where it cannot be sent."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"model: environment variable {variable} (model.api_key_env) is not set; export it")
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"model: the key in {variable} (model.api_key_env) holds characters that no key has (a line end, a control "
            "character, or one outside ASCII); export it again"
        )
    return key


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine itself, by its name or address."""
    host = host.strip("[]").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def open_client(address: Address, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """A client through the proxy that the environment names for this address. UserError where it cannot be used, or
    where the certificates that the environment names cannot be read."""
    variable, proxy = find_proxy(address.url)
    limits = httpx.Limits(max_connections=256)
    try:
        verify = httpx.create_ssl_context() if address.url.scheme == "https" else False
    except (OSError, ValueError):
        raise UserError("the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read; mend it") from None
    try:
        if proxy is not None and parse_server(proxy, PROXIES) is None:
            raise ValueError("no proxy")
        return httpx.AsyncClient(timeout=timeout, limits=limits, verify=verify, trust_env=False, proxy=proxy)
    except ImportError:
        raise UserError(
            f"{variable}: a SOCKS proxy needs a package that is not installed; pip install 'httpx[socks]', or name the "
            "server in NO_PROXY"
        ) from None
    except Exception:
        if proxy is None:
            raise
        raise UserError(
            f"{variable}: is not the address of a proxy; give http://host:port, or name the server in NO_PROXY"
        ) from None


def find_proxy(url: httpx.URL) -> tuple[str, str | None]:
    """The environment's variable and the proxy that it names for `url`; ("", None) where it is reached directly."""
    proxies = urllib.request.getproxies_environment()
    kind = next((kind for kind in (url.scheme, "all") if proxies.get(kind)), None)
    if kind is None or is_loopback(url.host) or urllib.request.proxy_bypass(url.netloc.decode("ascii")):
        return "", None
    proxy = proxies[kind]
    names = [name for name, value in os.environ.items() if name.lower() == f"{kind}_proxy" and value == proxy]
    return (names or [f"{kind}_proxy"])[0], proxy if "://" in proxy else f"http://{proxy}"
