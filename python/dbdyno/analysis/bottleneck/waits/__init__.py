"""Sampled waits of a server's sessions: their meaning, their share of the time, and advice."""

from dbdyno.analysis.bottleneck.waits.meanings import Meaning, known_waits, meaning_of
from dbdyno.analysis.bottleneck.waits.samples import MIN_SAMPLES, Share, WaitSamples, share_of

__all__ = ["MIN_SAMPLES", "Meaning", "Share", "WaitSamples", "known_waits", "meaning_of", "share_of"]
