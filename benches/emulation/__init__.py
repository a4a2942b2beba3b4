"""What the scripts that measure `headend emulate` share: lines, the command, controls, and the tools on both sides of a line."""
