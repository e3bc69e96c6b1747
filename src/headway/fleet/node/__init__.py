"""A node: one Spark application that hosts queries, tells how it stands, and does what it is asked to, over HTTP."""
