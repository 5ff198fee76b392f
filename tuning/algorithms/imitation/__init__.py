"""The beginning of a policy as the copy of a teacher: lessons seen as the policy sees them, and regressions on them."""
