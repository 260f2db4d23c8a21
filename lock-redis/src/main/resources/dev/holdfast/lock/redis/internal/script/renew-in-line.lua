-- Renews shares and permits.
--
-- Grants of one lock that follow each other cost one read and one write of its state. If they are in the order of their tokens, which
-- is that of the lines, one pass over the lines finds them all.
--
-- Keys: as for renew
-- Arguments: as for renew
-- Answers: as for renew, and 3 if others have shares or permits of the lock, but the owner has none

-- include: layout
-- include: left
-- include: record
local answers, r, parts, after, renewed = {}, nil, {}, 1, false
for i = 1, #KEYS do
  local at = i * 3 - 1
  if KEYS[i] ~= KEYS[i - 1] then
    r, parts, after, renewed = read(KEYS[i]), {}, 1, false
  end
  local found = r and find(r, ARGV[at], after)
  if r and not found and after > 1 then
    parts[#parts + 1] = string.sub(r.lines, after)
    r.lines, parts, after = table.concat(parts), {}, 1
    found = find(r, ARGV[at])
  end
  if found then
    r.last = math.max(r.last, ARGV[at + 2])
    parts[#parts + 1] = string.sub(r.lines, after, found.from - 1)
    parts[#parts + 1] = lineOf(r, found, r.now + ARGV[at + 1])
    after, renewed = found.to + 1, true
    answers[i] = 1
  else
    answers[i] = r and r.who == '-' and 0 or r and r.who == '+' and 3 or 2
  end
  if renewed and KEYS[i] ~= KEYS[i + 1] then
    parts[#parts + 1] = string.sub(r.lines, after)
    r.lines = table.concat(parts)
    write(KEYS[i], r, ARGV[1], true)
  end
end
return answers
