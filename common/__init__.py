"""Used by all parts: errors, whole files, numbers, units. It imports no other part."""
