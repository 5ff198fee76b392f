"""Numbers from numbers: assignments as vectors, a Gaussian process of learning curves, expected gains."""
