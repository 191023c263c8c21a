"""What a user meets first, written as users write it."""
