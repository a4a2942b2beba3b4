"""The lab in a browser: its page, the copies that begin with a scenario, and links into it."""
