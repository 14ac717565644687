"""What models give: their classes, the layers that they chain, and where they couple samples."""
