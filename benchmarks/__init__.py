"""Speed, measured side by side and printed as ratios; never a test."""
