"""Makes a site's folder of what people have: files of their meters, prices and charging sessions."""
