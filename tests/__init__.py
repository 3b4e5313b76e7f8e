"""Tests; they mirror the source tree."""
