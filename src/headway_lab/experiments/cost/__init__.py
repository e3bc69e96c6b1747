"""What a micro-batch costs, part by part."""
