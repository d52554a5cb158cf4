"""An agent's last texts -> what it claims: `reading.read` gives the claims, one per clause."""
