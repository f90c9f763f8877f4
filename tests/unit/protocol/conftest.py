"""Properties are tried by count, never by the clock: a busy machine fails no test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")
