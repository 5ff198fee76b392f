"""An experiment on disk: settings, folder, lock."""
