"""One run of a search on Ray Tune: begin, watch, show, end."""
