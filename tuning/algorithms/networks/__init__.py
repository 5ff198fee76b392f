"""Networks that the algorithms share."""
