"""The configuration file of a modem: reads, writes, checks, compares and describes such files."""
