"""What the fleet shares, in ZooKeeper: a server for trials, and sessions on it."""
