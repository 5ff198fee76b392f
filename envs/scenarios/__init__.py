"""Sites with their data: generated years, and schemas that a user gives, checked before anything runs."""
