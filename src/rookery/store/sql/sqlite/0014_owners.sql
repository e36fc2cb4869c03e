-- Which repository owns a team: the one whose rookery.toml named it first, or that the user trusted with it.

ALTER TABLE teams ADD COLUMN owner TEXT NOT NULL DEFAULT '';       -- the repository's id; '': it has none, or nobody owns it
ALTER TABLE teams ADD COLUMN owner_path TEXT NOT NULL DEFAULT '';  -- where its git folder was last seen; '': nobody owns it
