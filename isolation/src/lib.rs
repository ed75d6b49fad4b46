//! Workspace, policy, launcher, evidence; one mechanism a file.
