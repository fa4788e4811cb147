"""Settings for all tests: the same examples on every machine, and no clock in the verdict."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tallystick",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tallystick")
