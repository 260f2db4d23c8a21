-- The layout of everything that the scripts store: its patterns and formats. RedisHolders reads states and lines too.
--
-- State, one text for each lock: `waiting owner memory token released generation since identity`
--   waiting     whether the queue may have waiters: 0 none, 1 some, 2 some of them fair, 3 some of them ask for shares or permits, or poll
--   owner       the id of the acquisition that holds the lock, in hexadecimal; - if it is free; + while shares or permits are held
--   memory      how many ms the key lives after the end of the lease; the lock is held while more than that is left of the key's life
--   token       the last fencing token
--   released    the ids of the last four releases, 16 characters each, the latest first; - stands behind them
--   generation  the number of the owner's last attempt, which rises with each attempt
--   since       the server's time of the grant in ms
--   identity    what the owner says about itself; it may have spaces. A free lock has nothing behind `released` but a space.
--
-- Record, in place of generation, since and identity while the owner is +: `kind limit count sum bound latest free`, then the lines
--   kind      s for shares, p for permits
--   limit     the limit of the permits
--   count     how many holders there are; sum: how many permits they have
--   bound     no later than the first end of a lease; latest: no sooner than the last end
--   free      no higher than the lowest free slot
--
-- Line of a holder: newline, owner, tab, slot, tab, `permits token end generation since identity`
--   A holder costs about 90 bytes, which each request for the name copies.
--
-- Queue: a sorted set of the waiters' owner ids by arrival in us
-- Entry of a waiter, in a hash by owner id: `deadline mode inbox`, and what it asks for behind a space
--   deadline  in ms of the server's time; an attempt sets it to 5 s from now, a call to 700 ms from now
--   mode      p for an inbox that is a channel, s for a sharded channel; P or S if the waiter subscribes to it; - if it polls
--   inbox     in hexadecimal; of a waiter that polls, how many ms it is awaited after its turn has come
--   asks      nothing for the lock alone; `x generation lease identity` if a release may hand the lock over; or `kind permits limit`
-- An owner id or inbox that is not hexadecimal is dropped with its entry. So an entry can only make others publish to an inbox.
--
-- Limit: the limit of the permits, for a day after its last use
--
-- Needs: nothing
-- Gives: STATE, KEPT, GRANTED, FREED, RECORD, RECORDED, HOLDER, HOLDING, SPAN, SLOT, ENTRY, WAITS, TAKES, ASKS

local STATE = '^([0-3]) (%S+) (%d+) (%d+) (%S+) '
local KEPT, GRANTED, FREED = '%s %s %s %.0f %s %s', '%s %s %s %.0f %s %.0f %.0f %s', '%s - 0 %.0f %s '
local RECORD, RECORDED = '^([sp]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)()', '%s + %s %.0f %s %s %d %d %d %.0f %.0f %d'
local HOLDER, HOLDING = '\t(%d+)\t(%d+) (%d+) %d+ (%d+) (.*)$', '\n%s\t%d\t%d %.0f %.0f %.0f '
local SPAN, SLOT = '\t(%d+)\t(%d+) %d+ (%d+) ', '\t(%d+)\t'
local ENTRY, WAITS = '^(%d+) ([PpSs-]) (%x+)(.*)$', '%.0f %s %s%s'
local TAKES, ASKS = '^ x (%d+) (%d+) (.*)$', '^ ([sp]) (%d+) (%d+)$'
