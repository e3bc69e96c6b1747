"""The Linear Road benchmark: a toll system for expressways with known answers (Arasu et al., VLDB 2004)."""
