"""The resource that limits a trial, by where its time went: embedded engines, servers, tiers, transport."""
