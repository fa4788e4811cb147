"""Rehearsals: a disposable job is interrupted on purpose, and what that costs is measured."""
