"""How many homes a cable line's channels carry before people suffer from sharing them."""
