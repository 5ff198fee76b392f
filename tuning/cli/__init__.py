"""What all commands share: options, console lines, exit status, summary tables."""
