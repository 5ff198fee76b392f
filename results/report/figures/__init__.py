"""The figures of a report, by what they are about; each function makes one from tables."""
