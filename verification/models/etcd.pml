/*
 * etcd's queue with leases that move (lock-etcd, ConditionalWrite). See docs/protocols/etcd.md.
 *
 * Each client has two leases. It uses the first until the leaders change (once), the second from then on; what is on the first is
 * moved by an attempt or a renewal. The lease of a waiter is kept while the waiter lives, that of a dead one runs out. Each client
 * makes one acquisition, with a key of its own: that keys are used again is not in the model.
 *
 * A waiter that hears that it is first, because those ahead of it have left, holds without a request (handed). It may stand still before
 * it takes that in, so its lease runs from then on.
 *
 * run: three contenders, no fault | -DFAULTS=0 -DNO_RENEWALS
 * long run: three contenders, one fault | -DFAULTS=1 -DNO_RENEWALS -DSTAGED
 * run: two contenders, one fault, renewals | -DFAULTS=1 -DCONTENDERS=2
 * run: two contenders, two faults hit the second | -DFAULTS=2 -DCONTENDERS=2 -DVICTIM=1 -DNO_RENEWALS
 * long run: two contenders, two late or repeated requests, lease of two | -DFAULTS=2 -DL=2 -DCONTENDERS=2 -DVICTIM=1 -DNO_RENEWALS -DLATE_ONLY -DANY_CHANGE
 * long mutant: CREATE_REVISION S1 -DFAULTS=2 -DL=2 -DCONTENDERS=2 -DVICTIM=1 -DNO_RENEWALS -DLATE_ONLY -DANY_CHANGE | the fault of issue 15, put back
 * mutant: NO_CONDITION S1 -DFAULTS=2 -DL=2 -DCONTENDERS=2 -DVICTIM=1 -DNO_RENEWALS -DLATE_ONLY -DANY_CHANGE
 * mutant: DEADLINE_FROM_REPLY LOSS -DFAULTS=1 -DCONTENDERS=2
 * mutant: NO_TOMBSTONE LEFT -DFAULTS=1 -DCONTENDERS=2
 * mutant: WATCHES_NOBODY WAKE -DFAULTS=0 -DCONTENDERS=2
 * mutant: TOKEN_IS_MOD_REVISION S2 -DFAULTS=0
 * mutant: MESSAGE_SETS_THE_CLOCK S1 -DFAULTS=0 -DNO_RENEWALS
 * long mutant: ONLY_THE_ONE_BEFORE S1 -DFAULTS=1 -DNO_RENEWALS
 */
#define IN_ORDER true
#define WRITES false
#define LOST_LEAVES true
#define ID(i) i
#define CRASH_TELLS true
#define HANDS_OVER
#define HEARD
#include "state.pml"

byte revision;          /* creations so far: the token, and the order in the queue */
byte mod[N], lastMod[N], created[N]; /* of the key; a modification is never the same again */
bool on[N];             /* the lease that it is on */
byte first[N], second_[N]; /* what is left of a client's two leases */
bool tomb[N], changed;  /* tomb: on both leases at once */
/* what the client knows, and what its requests say */
byte seen[N], rqExp[N], lateExp[2];
bool rqOn[N], lateOn[2];
bool open_[N];          /* a creation was not answered: whether it arrives, the client does not know */
hidden byte exp;
hidden byte lease;
hidden byte beside;            /* the keep-alive that is sent beside an attempt is carried out with it; a late attempt has none */
bool wasPolled[N];

#define LEFT_OF(c, l) (l -> second_[c] : first[c])
#define SENT(i) rqExp[i] = seen[i]; rqOn[i] = changed
#define KEEP(k, i) lateExp[k] = rqExp[i]; lateOn[k] = rqOn[i]
#ifndef NO_RENEWALS
#define UNHEARD(i) open_[i] = (open_[i] || rq[i] == attempt && rqExp[i] == 0)
#endif
#define LOAD(i) beside = true; exp = rqExp[i]; lease = rqOn[i]; rqExp[i] = 0; rqOn[i] = 0
#define LOAD_LATE(k) beside = false; exp = lateExp[k]; lease = lateOn[k]; lateExp[k] = 0; lateOn[k] = 0

#define tomb_yes (tomb[who])
#define tomb_no (!tomb[who])
#if defined(MUTANT_NO_CONDITION)
#define matches true
#elif defined(MUTANT_CREATE_REVISION)
#define matches (exp != 0) /* the key is still the one that was created: it has been written since, and nobody asks */
#else
#define matches (mod[who] == exp)
#endif
#define another (ev == renew && gotTok[who] != 0 && created[who] != gotTok[who]) /* a late creation has made it, after the end of the first */
#define there_yes (mod[who] != 0 && !another)
#define there_no (!(there_yes))
#define as_yes (there_yes && (matches) || there_no && exp == 0)
#define as_no (!(as_yes))
#define on_open (open_[who])
#define on_lease (on[who] == lease && !open_[who])
#define on_other (on[who] != lease && !open_[who])
#define lease_lives (LEFT_OF(who, lease) > 0)
#define lease_gone (LEFT_OF(who, lease) == 0)
#define before(c) (mod[c] != 0 && c != who && (mod[who] == 0 || created[c] < created[who]))
#define place_behind (before(0) || before(1) || before(2))
#define place_first (!(place_behind))
#define write_ lastMod[who]++; mod[who] = lastMod[who]; on[who] = lease
#define to_key_made revision++; created[who] = revision; write_; assert(pc[who] != ended || LEFT)
#define to_key_moved write_
#define to_key_gone delete(who)

/* Whoever waits behind a deleted key hears of that, and knows whether others are ahead of it still. A place that is to move asks. */
#define ahead(j, k) (mod[k] != 0 && created[k] < created[j])
#define follows(j, c) (mod[j] != 0 && created[j] > created[c])
#ifdef MUTANT_ONLY_THE_ONE_BEFORE
#define isNext(j, a, b, c) (follows(j, c) && !(follows(a, c) && created[a] < created[j]) && !(follows(b, c) && created[b] < created[j]))
#else
#define isNext(j, a, b, c) (follows(j, c) && !ahead(j, a) && !ahead(j, b))
#endif
inline tell(j)
{
  if
  :: pc[j] == waiting && on[j] == changed -> handed[j] = true; age[j] = 0; gotTok[j] = created[j]
  :: else -> called[j] = (pc[j] != dead)
  fi
}
inline delete(c)
{
  if
  :: mod[c] != 0 ->
       mod[c] = 0; on[c] = 0;
#ifndef MUTANT_WATCHES_NOBODY
       if
       :: isNext(0, 1, 2, c) -> tell(0)
       :: isNext(1, 0, 2, c) -> tell(1)
       :: isNext(2, 0, 1, c) -> tell(2)
       :: else
       fi;
#endif
       created[c] = 0
  :: else
  fi
}

#include "etcd.steps.pml"

inline keepAlive(c, l)
{
  if
  :: l && second_[c] > 0 -> second_[c] = L
  :: !l && first[c] > 0 -> first[c] = L
  :: else
  fi
}

inline serve(event, id)
{
  ev = event; who = id; tok = 0;
  if
  :: ev == attempt ->
       if :: beside -> keepAlive(who, lease) :: else fi;
       step();
       seen[who] = mod[who]; /* older answers are known by their revision, and replace nothing */
#ifdef MUTANT_TOKEN_IS_MOD_REVISION
       tok = mod[who]
#else
       tok = created[who]
#endif
  :: ev == renew ->
       keepAlive(who, on[who]);
       lease = changed;
       step();
       if :: mod[who] != 0 -> keepAlive(who, on[who]) :: else fi;
       seen[who] = mod[who]
  :: ev == release || ev == abandon ->
       step();
       open_[who] = false;
#ifndef MUTANT_NO_TOMBSTONE
       tomb[who] = true
#else
       skip
#endif
  fi
}

#define counts(i) (mod[i] != 0 && pc[i] != waiting)
/* A waiter keeps the lease in use; the one before the change of leaders nobody keeps. */
#define standsStill(i) (pc[i] == waiting && handed[i])
hidden byte still[N]; /* before the tick */
#define runs1(i, stands) (first[i] > 0 && (pc[i] != waiting && pc[i] != idle && pc[i] != ended || changed || stands))
#define runs2(i, stands) (second_[i] > 0 && (pc[i] != waiting && pc[i] != idle && pc[i] != ended || stands))
inline run_(i)
{
  if :: runs1(i, still[i] == 1) -> first[i]--; if :: first[i] == 0 && mod[i] != 0 && !on[i] -> delete(i); called[i] = (pc[i] == waiting) :: else fi :: else fi;
  if :: runs2(i, still[i] == 1) -> second_[i]--; if :: second_[i] == 0 && mod[i] != 0 && on[i] -> delete(i) :: else fi :: else fi
}
#define counting(i) (runs1(i, standsStill(i)) || runs2(i, standsStill(i)))
#define storeCounts (counting(0) || counting(1) || counting(2))
inline storeTick()
{
  still[0] = (standsStill(0) -> 1 : 0); still[1] = (standsStill(1) -> 1 : 0); still[2] = (standsStill(2) -> 1 : 0);
  run_(0); run_(1); run_(2)
}
#define callAll(i) called[i] = (pc[i] == waiting)
#ifdef ANY_CHANGE
#define mayChange true
#else
#define mayChange (maxHeld > 0) /* after the first grant */
#endif
#define OTHER_EVENTS \
  :: d_step { !changed && mayChange -> printf("the leaders change\n"); changed = true; callAll(0); callAll(1); callAll(2) } \
  :: d_step { pc[1] == waiting && !wasPolled[1] -> wasPolled[1] = true; called[1] = true }
#define BEGIN d_step { first[0] = L; first[1] = L; first[2] = L; second_[0] = L; second_[1] = L; second_[2] = L }
#define free(i) false
#define nothingLeft (mod[0] == 0 && mod[1] == 0 && mod[2] == 0)
inline died(i) { skip }

#include "clients.pml"
