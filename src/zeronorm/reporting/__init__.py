"""What was found: a document, the same in words, and one page to forward."""
