-- The fields of the state whose value is `text`. If the value is foreign content, all of them are nil.
--
-- Needs: text
-- Gives: waiting, who, memory, last, released, about

-- include: layout
-- include: left
local waiting, who, memory, last, released, about = '0', '-', '0', '0', '-', ''
if text then
  waiting, who, memory, last, released, about =
      string.match(text, STATE .. '(.*)$')
end
