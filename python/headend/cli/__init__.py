"""The command line. Each command is a module; what takes long to import is imported when it is needed."""
