"""Judging: contenders are trained again with fresh seeds, and compared on years that no search has seen."""
