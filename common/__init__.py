"""Used by all parts: errors, whole files, units. It imports no other part."""
