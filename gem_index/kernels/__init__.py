"""Compiled inner loops: small functions that read like their plain twins in the tests."""
