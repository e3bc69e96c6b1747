"""Does advice come true? What it says of Headway, from stock Spark's reports, beside what Headway then does."""
