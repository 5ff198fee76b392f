"""Judging: contenders are trained again with fresh seeds, and compared on hours that no search has seen."""
