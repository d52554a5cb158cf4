"""The built-in rules, one file each: OC1xx claims, OC2xx failures that nobody noticed, OC4xx broken procedures."""
