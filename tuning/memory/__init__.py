"""Memory of trials: predicted before they run, granted by Ray, corrected by what was measured."""
