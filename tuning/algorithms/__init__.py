"""The algorithms that trials train. `registry` lists them, `spec` says what one consists of."""
