"""Sampling the GPUs of this node through NVML."""

from tallystick.collectors.nvml.library import open_nvml
from tallystick.collectors.nvml.sample import Pace, SampleSettings, sample

__all__ = ["Pace", "SampleSettings", "open_nvml", "sample"]
