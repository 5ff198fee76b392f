"""What is known of a search: its trials, their states and evaluations, and what was used of the budget."""
