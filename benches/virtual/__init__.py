"""What the scripts beside a real Linux kernel in virtual time share: running its guest."""
