"""Launch targets that are manifests for Kubernetes and its operators."""
