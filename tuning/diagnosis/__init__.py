"""What a machine can do: predicted memory of a trial, and an examination by real updates."""
