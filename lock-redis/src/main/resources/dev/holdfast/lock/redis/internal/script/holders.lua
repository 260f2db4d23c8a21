-- Returns who holds a lock.
--
-- Keys: state
-- Arguments: none
-- Answers: {kind, limit, holders}: kind - if the lock is free; x and the whole state; or s or p and the lines of the record

-- include: held
return held
