"""The extension points of rdflive, and the manager of the plugins that implement them."""
