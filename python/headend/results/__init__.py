"""What a run left: its tables, its folder, its seals, and their export."""
