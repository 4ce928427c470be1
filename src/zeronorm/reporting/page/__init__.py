"""A selection as one page to forward, and nothing else here: see `html`."""
