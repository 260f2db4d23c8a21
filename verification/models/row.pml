/*
 * The lock as a row with an expiry and a token (lock-jdbc, strategy VERSION). See docs/protocols/row.md.
 * What a statement does to the row is made from row.table. A restart of the database keeps the row, and what was under way is
 * lost, as a request or an answer is.
 *
 * run: three contenders, one fault | -DFAULTS=1
 * run: two contenders, two faults, a lease of two ticks | -DFAULTS=2 -DL=2 -DCONTENDERS=2
 * run: two contenders, two rounds, one fault | -DFAULTS=1 -DL=2 -DCONTENDERS=2 -DROUNDS=2
 * mutant: GRANTS_WHILE_HELD S1
 * mutant: DEADLINE_FROM_REPLY S1
 * mutant: RENEWS_WHAT_IS_GONE S1 -DFAULTS=1 -DL=2 -DCONTENDERS=2 -DROUNDS=2
 * mutant: RELEASES_FOR_ANYBODY LOSS
 * mutant: TOKEN_STARTS_AGAIN S2
 * mutant: NEVER_EXPIRES LEFT
 */
#define ID(i) (1 + i + (second[i] -> N : 0))
#define CRASH_TELLS false
#include "state.pml"

#define NOBODY 0
byte owner, token, left;

#define owner_none (owner == NOBODY)
#define owner_me (owner == who)
#define owner_other (owner != NOBODY && owner != who)
#ifdef MUTANT_GRANTS_WHILE_HELD
#define lease_runs (left > 1)
#else
#define lease_runs (left > 0)
#endif
#define lease_over (!(lease_runs))
#define to_owner_none owner = NOBODY
#define to_owner_me owner = who
#define to_lease_full left = L
#ifdef MUTANT_TOKEN_STARTS_AGAIN
#define to_token_next token = (owner == NOBODY -> 1 : token + 1)
#else
#define to_token_next token++
#endif

#include "row.steps.pml"

inline serve(event, id)
{
  ev = event; who = id;
#ifdef MUTANT_TOKEN_STARTS_AGAIN
  if :: owner == NOBODY && ev == attempt -> token = 0 :: else fi;
#endif
#ifdef MUTANT_RELEASES_FOR_ANYBODY
  if :: ev == release && owner != NOBODY -> who = owner :: else fi;
#endif
#ifdef MUTANT_RENEWS_WHAT_IS_GONE
  if :: ev == renew -> owner = who; left = L; answer = renewed :: else -> step() fi;
#else
  step();
#endif
  tok = token
}

#ifdef MUTANT_NEVER_EXPIRES
#define storeCounts (left > 1)
#else
#define storeCounts (left > 0)
#endif
inline storeTick()
{
#ifdef MUTANT_NEVER_EXPIRES
  if :: left > 1 -> left-- :: else fi
#else
  if :: left > 0 -> left-- :: else fi
#endif
}
#define free(i) (owner == NOBODY || lease_over) /* a poll; those that find it busy are left out */
#define nothingLeft (owner == NOBODY || left == 0)
inline died(i) { skip }

#include "clients.pml"
