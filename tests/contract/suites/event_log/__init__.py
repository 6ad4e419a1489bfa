"""What every event log must do, as tests. `conformance` says how a suite for your event log is made; `case` is what the tests stand on."""
