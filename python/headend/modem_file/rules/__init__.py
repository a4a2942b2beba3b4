"""The rules of ``headend config check``: a function for each rule, in a module for each subject."""
