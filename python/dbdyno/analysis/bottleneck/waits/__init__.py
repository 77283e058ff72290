"""What a server's sessions were seen waiting for: what a wait means, how much time it takes, and what helps."""

from dbdyno.analysis.bottleneck.waits.meanings import Meaning, known_waits, meaning_of
from dbdyno.analysis.bottleneck.waits.sightings import FEWEST, Share, Sightings, share_of

__all__ = ["FEWEST", "Meaning", "Share", "Sightings", "known_waits", "meaning_of", "share_of"]
