-- Renews grants of locks that are held alone.
--
-- Keys: the state of each grant
-- Arguments: memory in ms, then owner, lease in ms and token of each grant
-- Answers: for each grant 1 if it was renewed, 0 if the lock is not held, 2 if another owner holds it

-- include: layout
-- include: left
local answers = {}
for i = 1, #KEYS do
  local text, at = redis.call('GET', KEYS[i]), i * 3 - 1
  local waiting, who, memory, last, released, about = string.match(text or '', STATE .. '(.*)$')
  if not text or who == '-' or memory and left(KEYS[i], memory) <= 0 then
    answers[i] = 0
  elseif who == ARGV[at] then
    redis.call('PEXPIRE', KEYS[i], ARGV[at + 1] + ARGV[1])
    redis.call('SET', KEYS[i], string.format(KEPT,
               waiting, who, ARGV[1], math.max(last, ARGV[at + 2]), released, about), 'PX', ARGV[at + 1] + ARGV[1])
    answers[i] = 1
  else
    answers[i] = 2
  end
end
return answers
