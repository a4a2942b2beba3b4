"""The configuration file of a modem: reading and writing it, what is wrong with it, what changed between two, and what is in one."""
