-- Caches no longer need to know which commits only wrote last uses.
DROP TABLE use_flushes;
