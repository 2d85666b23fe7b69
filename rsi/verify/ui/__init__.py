"""Compiling a component and driving it in a browser, all inside a sandbox."""
