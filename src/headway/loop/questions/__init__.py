"""The questions that a kernel asks: of a runtime, such as which query runs next; of a fleet, on which node a query runs."""
