-- The server's time.
--
-- Needs: nothing
-- Gives: clock, micros, millis

local clock = redis.call('TIME')
local micros = clock[1] * 1000000 + clock[2]
local millis = math.floor(micros / 1000)
