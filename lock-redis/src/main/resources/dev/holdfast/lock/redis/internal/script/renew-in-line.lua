-- Renews shares and permits.
--
-- Keys: as for renew
-- Arguments: as for renew
-- Answers: as for renew, and 3 if others have shares or permits of the lock, but the owner has none

-- include: layout
-- include: left
-- include: record
local answers = {}
for i = 1, #KEYS do
  local r, at = read(KEYS[i]), i * 3 - 1
  local found = r and find(r, ARGV[at])
  if found then
    r.last = math.max(r.last, ARGV[at + 2])
    put(r, found.from, found.to, found, r.now + ARGV[at + 1])
    write(KEYS[i], r, ARGV[1], true)
    answers[i] = 1
  else
    answers[i] = r and r.who == '-' and 0 or r and r.who == '+' and 3 or 2
  end
end
return answers
