"""A model that a server offers over HTTP: how it is reached, asked and understood; `rsi.models.openai` joins it.

Every room of this package keeps one rule: what a server or an HTTP library says is data. It raises nothing but this
project's errors, for the one request that it answers, in this project's own words.
"""
