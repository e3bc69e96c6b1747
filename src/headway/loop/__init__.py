"""See, decide, guard, act, write it down."""
