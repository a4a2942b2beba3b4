"""The command line. Each command is a module; slow imports are made when they are needed."""
