"""Places that a URI names: their objects, and working copies of them on this machine."""
