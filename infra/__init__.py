"""What a person starts around the project: pages on this machine, deployments on a cluster. Not part of the package."""
