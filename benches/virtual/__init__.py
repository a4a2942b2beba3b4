"""What the scripts that measure beside a real Linux kernel in virtual time share: how its guest is run, and what it leaves."""
