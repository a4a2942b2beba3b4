"""The tests that RFCs ask of queues, congestion controls and calls: scenarios, criteria, verdicts."""
