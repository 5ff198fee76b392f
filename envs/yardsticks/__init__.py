"""What policies are compared with: baselines, rules, and the perfect-foresight bound."""
