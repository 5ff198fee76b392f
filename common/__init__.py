"""The ground under all parts: errors, whole files, units. It imports nothing of ours."""
