"""Long texts spoken in the background, in this process."""
