"""Who is really best: contenders are trained again with fresh seeds, race, and are judged on years that nobody has seen."""
