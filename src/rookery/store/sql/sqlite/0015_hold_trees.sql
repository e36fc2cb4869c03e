-- Which working trees have something held in them, whatever team holds it: a write is judged where its target lies.

CREATE INDEX reservations_tree ON reservations (tree, team) WHERE kind = 'path' AND state = 'held';

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('reservations', 'reservations_tree', '100000 1000 500');
ANALYZE sqlite_schema; -- read by this connection too
