"""Sandboxes that are Docker containers. It must not know what runs in them."""

from rsi.sandbox.docker.provider import Docker

__all__ = ["Docker"]
