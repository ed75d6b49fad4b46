//! Numbers only: McNemar, Tango, t on log ratios, bootstrap; knows no arm, no task, no file.
