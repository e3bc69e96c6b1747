"""What the dashboard costs, and how soon it shows what was decided."""
