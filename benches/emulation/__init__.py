"""What the scripts that measure `headend emulate` share: lines, the command, tools."""
