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
 * mutant: CLAIM_TAKES_WHAT_IS_HELD S1
 * mutant: CLAIM_NEVER_ENDS WAKE -DFAULTS=1 -DL=2
 */
#define ID(i) (1 + i + (second[i] -> N : 0))
#define CRASH_TELLS false
#include "state.pml"

#define NOBODY 0
byte owner, token, left;
byte first;                  /* in the line, which is modelled as one place: those behind it ask as if they were not in it */
bool fresh;                  /* the row has been free for less than a tick: a claim stands */

#define claim_other ((owner == NOBODY || lease_over) && fresh && first != NOBODY && first != who)
#define claim_open (!claim_other)
#define to_line_with first = (first == NOBODY -> who : first)
#define to_line_without first = (first == who -> NOBODY : first)
#define to_line_past first = NOBODY
#define to_lease_over left = 0; fresh = true

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
#define to_lease_full left = L; fresh = false
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
#ifdef MUTANT_CLAIM_TAKES_WHAT_IS_HELD
  if :: ev == attempt && first == who && owner != who -> owner = NOBODY; fresh = false :: else fi;
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
#ifdef MUTANT_CLAIM_NEVER_ENDS
#define storeCounts (left > 0)
#else
#define storeCounts (left > 0 || fresh)
#endif
#endif
inline storeTick()
{
#ifdef MUTANT_NEVER_EXPIRES
  if :: left > 1 -> left-- :: else fi
#else
#ifdef MUTANT_CLAIM_NEVER_ENDS
  if :: left == 1 -> left = 0; fresh = true :: left > 1 -> left-- :: else fi
#else
  if :: left == 1 -> left = 0; fresh = (owner != NOBODY) :: left > 1 -> left-- :: left == 0 -> fresh = false fi
#endif
#endif
}
#define free(i) ((owner == NOBODY || lease_over) && !(fresh && first != NOBODY && first != ID(i))) /* a poll; those that find it busy are left out */
#define nothingLeft (owner == NOBODY || left == 0)
inline died(i) { skip }

#include "clients.pml"
