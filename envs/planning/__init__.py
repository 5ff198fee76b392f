"""Model predictive control: programmes of the next hours, solved each hour."""
