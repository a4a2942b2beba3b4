"""What RFCs say should be tested of queues, congestion controls and calls, and verdicts on it."""
