"""Selection for a measure of all labels at once, by two layers of cutting planes."""
