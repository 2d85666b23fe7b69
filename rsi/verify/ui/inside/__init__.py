"""Runs inside the sandbox, with the standard library alone: drives a component in headless Chromium and says what a
person would see of it. It knows the steps, never what is expected; what it says is compared outside."""
