"""What ``headend config check`` looks for: a function for each rule, in a module for each subject."""
