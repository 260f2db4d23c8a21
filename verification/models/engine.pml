/*
 * The engine's local hand-off, with loss (lock-api: LocalHolds, HeldLock, PendingAcquisition). See docs/protocols/engine.md.
 * Three threads of one client, one acquisition under way at most, and a contender of another process, which takes the lock when it is
 * free. The store is a row with a lease. With STICKY a grant stays as long as its client lives, and an abandonment leaves a tombstone.
 * Wake-ups of the store are in the stores' models: here an acquisition that waits asks again whenever the lock is free.
 *
 * run: three threads, no fault | -DFAULTS=0
 * long run: three threads, one fault, one waiter leaves | -DFAULTS=1 -DCANCELS=1
 * run: three threads, one fault, sticky grants, the next attempt right behind a release | -DFAULTS=1 -DSTICKY -DORDERED
 * run: two threads, two faults, one waiter leaves, a lease of two ticks | -DFAULTS=2 -DTHREADS=2 -DCANCELS=1 -DL=2
 * mutant: HANDS_OFF_WHAT_IS_OVER S1 -DFAULTS=0
 * mutant: HAND_OFF_RELEASES_TOO S1 -DFAULTS=0
 * mutant: DEADLINE_FROM_REPLY S1 -DFAULTS=0
 * mutant: HAND_OFF_KEEPS_TOKEN S2 -DFAULTS=0
 * mutant: LOSS_STARTS_NOBODY WAKE -DFAULTS=1
 * mutant: RELEASE_NEEDS_ITS_ANSWER WAKE -DFAULTS=1
 * long mutant: LEAVING_REMOVES_AND_GOES_ON S1 -DFAULTS=1 -DCANCELS=1
 * mutant: GRANT_FOR_NOBODY_STAYS LEFT -DFAULTS=0 -DSTICKY -DCANCELS=1 -DTHREADS=1
 * mutant: NO_ABANDONMENT_BEHIND_RELEASE LEFT -DFAULTS=1 -DSTICKY
 * mutant: REVIVES_WHAT_IS_OVER S2 -DFAULTS=2 -DTHREADS=2 -DCANCELS=1 -DL=2
 * mutant: ANY_LOSS_ENDS_THE_HOLD LOSS -DFAULTS=2 -DTHREADS=2
 */
#define N 3
#define NONE 3
#define FOREIGN 9
#define IDS 7
#ifndef L
#define L 1
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef THREADS
#define THREADS N
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#define HAND_OFFS 2 /* at most, with one grant */

/* Never set: they name the property in the text of a failed assertion. */
bool S1, S2, WAKE, LEFT, TABLE, LOSS;

mtype = { unlock, granted, left };                                /* events of the table */
mtype = { lost, release, handoff, abandon, again, hold, stays };  /* and what it answers */
mtype = { idle, queued, holding, releasing, over };               /* a thread */
mtype = { none, asking, listening, retrying };                    /* the acquisition under way */
mtype = { busy, renewed, notheld, failed };

mtype pc[N] = idle;
bool held[N];               /* it has been told of its hold, and not of the end of it */
byte place[N], arrivals;    /* in the local queue */
byte handOffs, maxTok;
mtype pending = none;
hidden mtype ev, answer;   /* hidden: of the step that is taken, and no part of a state */
byte acq, acqs;             /* the acquisition under way; how many there were */
bool unsure;                /* an earlier attempt of it may be on its way */
byte grant, grantTok, valid, holder = NONE; /* the grant that is held: of which acquisition, for how long, by whom */
bool grantUnsure, renewalFailed, renewedOnce;
byte ending;                /* the acquisition whose release is out */
byte ender = NONE;          /* the thread that waits for its answer */
bool endingUnsure;
/* the network */
byte att, attAge, late; mtype attAnswer; byte attTok;
byte ren, renAge; mtype renAnswer;
byte rel; mtype relAnswer;
bool removal[IDS];          /* abandonments and removals, which are repeated until they are confirmed */
/* the store, and the other process */
byte owner, token, left_, foreign; bool foreignDone;
bool tomb[IDS];
bool dead, disturbed;
byte revoked;
byte faults = FAULTS, cancels = CANCELS;
byte overs;                 /* answers that took longer than their lease: one in a run at most, or tokens would rise without end */
#define TOLD_STEP printf("  engine: %e: %e\n", ev, answer)
byte e;                     /* the grant that is renewed */
hidden byte h, k;

#define lease_valid (certain > 0)
#define lease_over (certain == 0)
#define waiter_yes (h != NONE)
#define waiter_no (h == NONE)
#define fit_yes (handOffs < HAND_OFFS && !renewalFailed)
#define fit_no (!(fit_yes))
hidden byte certain;
#include "engine.steps.pml"

inline decide(event, remaining)
{
  ev = event; certain = remaining; findHead(); step(); certain = 0
}

inline findHead()
{
  h = NONE; k = 0;
  do
  :: k < N -> if :: pc[k] == queued && (h == NONE || place[k] < place[h]) -> h = k :: else fi; k++
  :: else -> break
  od;
  k = 0
}

inline ask()
{
  pending = asking; att = acq; attAge = 0
}

#ifdef ORDERED
#define releaseIsOut false /* the next attempt may go right behind it */
#else
#define releaseIsOut (ending != 0)
#endif
inline startNext()
{
  findHead();
  if
  :: h != NONE && pending == none && grant == 0 && !releaseIsOut && !dead -> acqs++; acq = acqs; unsure = false; ask()
  :: else
  fi
}

inline give(i)
{
  assert((valid > 0 && foreign == 0 || revoked == grant) || S1);
  assert((!held[0] && !held[1] && !held[2]) || S1);
  printf("thread %d holds, for %d\n", i, valid);
  place[i] = 0; pc[i] = holding; held[i] = true; holder = i;
  assert(grantTok * (HAND_OFFS + 1) + handOffs > maxTok || revoked == grant || S2);
  if :: grantTok * (HAND_OFFS + 1) + handOffs > maxTok -> maxTok = grantTok * (HAND_OFFS + 1) + handOffs :: else fi
}

/* The hold of i ends: it is told once. */
inline tell(i)
{
  assert(held[i] || LOSS);
  held[i] = false
}

inline endOfPending(abandoned)
{
  if :: abandoned -> removal[acq] = true :: else fi;
  pending = none; acq = 0; unsure = false
}

inline leaveGrant()
{
  grant = 0; grantTok = 0; valid = 0; holder = NONE; handOffs = 0; renewalFailed = false; grantUnsure = false
}

/* The lease that is held ends: its time is over, or the store says so (then nothing is there to remove, unless that is not sure). */
inline endGrant(isGone)
{
  tell(holder);
  if :: !isGone || grantUnsure -> removal[grant] = true :: else fi;
  leaveGrant();
#ifndef MUTANT_LOSS_STARTS_NOBODY
  startNext()
#endif
}

inline hearAttempt()
{
  if
  :: attAnswer == busy -> pending = listening; findHead();
       if :: h == NONE -> endOfPending(true); startNext() :: else fi
  :: attAnswer == granted ->
#ifdef MUTANT_DEADLINE_FROM_REPLY
       decide(granted, L);
#else
       decide(granted, L - attAge);
#endif
       if
       :: answer == abandon ->
#ifdef MUTANT_GRANT_FOR_NOBODY_STAYS
            endOfPending(false);
#else
            endOfPending(true);
#endif
            startNext()
       :: answer == again -> pending = retrying; unsure = true; overs++
       :: answer == hold ->
            grant = acq; grantTok = attTok; grantUnsure = unsure; renewalFailed = false;
#ifdef MUTANT_DEADLINE_FROM_REPLY
            valid = L;
#else
            valid = L - attAge;
#endif
            endOfPending(false); findHead(); give(h)
       fi
  fi;
  attAnswer = 0; attTok = 0; attAge = 0
}

inline unlockBy(i)
{
#ifdef MUTANT_HANDS_OFF_WHAT_IS_OVER
  decide(unlock, 1);
#else
  decide(unlock, valid);
#endif
  if
  :: answer == lost -> pc[i] = over; endGrant(false)
  :: answer == handoff ->
       tell(i); pc[i] = over;
#ifndef MUTANT_HAND_OFF_KEEPS_TOKEN
       handOffs++;
#endif
#ifdef MUTANT_HAND_OFF_RELEASES_TOO
       removal[grant] = true;
#endif
       give(h)
  :: answer == release ->
       pc[i] = releasing; ender = i; ending = grant; endingUnsure = grantUnsure; rel = grant;
       held[i] = false; /* it does not rely on it any more; it is told by the answer */
       leaveGrant(); startNext()
  fi
}

inline released_()
{
  pc[ender] = over; ender = NONE;
#ifndef MUTANT_NO_ABANDONMENT_BEHIND_RELEASE
  if :: endingUnsure -> removal[ending] = true :: else fi;
#endif
  if :: relAnswer == failed -> removal[ending] = true :: else fi; /* the backlog has it */
  endingUnsure = false;
#ifdef MUTANT_RELEASE_NEEDS_ITS_ANSWER
  ending = 0;
  if :: relAnswer != failed -> startNext() :: else fi;
#else
  ending = 0; startNext();
#endif
  relAnswer = 0
}

/* The store. */
#define runs (owner != 0 && left_ > 0)
inline tryFor(a)
{
  if
  :: tomb[a] -> answer = busy
  :: !tomb[a] && runs && owner != a -> answer = busy
  :: !tomb[a] && !(runs && owner != a) ->
       if :: !(runs && owner == a) -> token++; assert(!dead || true) :: else fi;
       owner = a; left_ = L; answer = granted
  fi
}
inline remove(a)
{
  if :: owner == a -> owner = 0; left_ = 0 :: else fi
}
inline fault()
{
  faults--; disturbed = true
}
inline attemptUnknown()
{
  att = 0; attAge = 0;
  if :: pending == asking -> pending = retrying; unsure = true :: else fi
}

#ifdef STICKY
#define storeCounts (left_ > 0 && (owner == FOREIGN || dead))
#else
#define storeCounts (left_ > 0)
#endif
#define attAges ((att != 0 || attAnswer != 0) && attAge < L)
#define renAges ((ren != 0 || renAnswer != 0) && renAge < L)
#define endures (overs == 0 || !attAges || attAge + 1 < L)
#define mayTick (endures && (storeCounts || valid > 0 || foreign > 0 || attAges || renAges))
#define isFree (!runs)

inline dies()
{
  dead = true; valid = 0; grant = 0; held[0] = false; held[1] = false; held[2] = false; pending = none; holder = NONE;
  attAnswer = 0; attAge = 0; attTok = 0; renAnswer = 0; renAge = 0; relAnswer = 0; ending = 0; acq = 0; handOffs = 0; grantTok = 0;
  pc[0] = over; pc[1] = over; pc[2] = over; unsure = false; grantUnsure = false; endingUnsure = false; ender = NONE; renewalFailed = false;
  k = 0; do :: k < IDS -> removal[k] = false; k++ :: else -> break od; k = 0
}

#define THREAD(i) \
  :: d_step { pc[i] == idle && i < THREADS && (i == 0 || pc[(i == 0 -> 0 : i - 1)] != idle) && !dead -> \
       pc[i] = queued; arrivals++; place[i] = arrivals; startNext() } \
  :: d_step { pc[i] == holding && holder == i && ending == 0 -> unlockBy(i) } \
  :: d_step { pc[i] == holding && holder != i -> pc[i] = over } /* it was lost: the thread hears of it now */ \
  :: d_step { pc[i] == queued && cancels > 0 -> cancels--; pc[i] = over; place[i] = 0; leaveQueue() }

inline leaveQueue()
{
  if
  :: pending == listening || pending == retrying ->
       decide(left, 0);
       if
       :: answer == abandon ->
#ifndef MUTANT_LEAVING_REMOVES_AND_GOES_ON
            endOfPending(true); startNext()
#else
            removal[acq] = true
#endif
       :: else
       fi
  :: else
  fi
}

active proctype world()
{
  do
  THREAD(0)
  THREAD(1)
  THREAD(2)
  /* the engine */
  :: d_step { pending == retrying && att == 0 && attAnswer == 0 -> ask() }
  :: d_step { pending == listening && (isFree || owner == acq) -> ask() } /* called, or its poll */
  :: d_step { attAnswer != 0 && pending == asking -> hearAttempt() }
  :: d_step { grant != 0 && valid == 0 -> endGrant(false) }              /* its time is over */
  :: d_step { grant != 0 && valid > 0 && ren == 0 && renAnswer == 0 && !renewedOnce -> renewedOnce = true; ren = grant; renAge = 0; e = grant }
  :: d_step { renAnswer != 0 ->
       printf("a renewal's answer: %e\n", renAnswer);
       if
#ifndef MUTANT_REVIVES_WHAT_IS_OVER
       :: renAnswer == renewed && e == grant && grant != 0 && valid == 0 -> endGrant(false) /* it is over, and nobody had noticed */
       :: renAnswer == renewed && e == grant && valid > 0 ->
#else
       :: renAnswer == renewed && e == grant && grant != 0 ->
#endif
            if :: L - renAge > valid -> valid = L - renAge :: else fi; renewalFailed = false
       :: renAnswer == failed && e == grant -> renewalFailed = true
#ifdef MUTANT_ANY_LOSS_ENDS_THE_HOLD
       :: renAnswer == lost && grant != 0 ->
#else
       :: renAnswer == lost && grant != 0 && e == grant ->
#endif
            assert((e == grant && (valid == 0 || revoked == grant)) || LOSS); endGrant(true)
       :: else
       fi;
       renAnswer = 0; renAge = 0; e = 0 }
  :: d_step { relAnswer != 0 -> released_() }
  /* the store carries requests out */
  :: d_step { att != 0 -> tryFor(att); att = 0;
       if :: pending == asking -> attAnswer = answer; attTok = (answer == granted -> token : 0)
          :: else -> attAge = 0 fi }
  :: d_step { ren != 0 -> renAnswer = (runs && owner == ren -> renewed : lost); if :: renAnswer == renewed -> left_ = L :: else fi; ren = 0;
       if :: dead -> renAnswer = 0; renAge = 0; e = 0 :: else fi }
  :: d_step { rel != 0 -> relAnswer = (runs && owner == rel -> release : notheld); remove(rel); rel = 0; if :: dead -> relAnswer = 0 :: else fi }
  :: d_step { late != 0 -> printf("a late attempt arrives\n"); tryFor(late); late = 0 }
  :: d_step { removal[1] -> removal[1] = false; remove(1); tomb[1] = true }
  :: d_step { removal[2] -> removal[2] = false; remove(2); tomb[2] = true }
  :: d_step { removal[3] -> removal[3] = false; remove(3); tomb[3] = true }
  :: d_step { removal[4] -> removal[4] = false; remove(4); tomb[4] = true }
  :: d_step { removal[5] -> removal[5] = false; remove(5); tomb[5] = true }
  :: d_step { removal[6] -> removal[6] = false; remove(6); tomb[6] = true }
  /* the other process */
  :: d_step { isFree && !foreignDone -> printf("the other process holds\n"); foreignDone = true; owner = FOREIGN; left_ = L; token++; foreign = L;
       assert((holder == NONE || valid == 0 || revoked == grant) || S1);
       assert(token * (HAND_OFFS + 1) > maxTok || S2); maxTok = token * (HAND_OFFS + 1) }
  :: d_step { foreign > 0 -> foreign = 0; if :: owner == FOREIGN -> owner = 0; left_ = 0 :: else fi }
  /* faults */
  :: d_step { faults > 0 && att != 0 && !dead -> printf("an attempt is lost\n"); fault(); attemptUnknown() }
  :: d_step { faults > 0 && att != 0 && !dead -> printf("the answer to an attempt is lost\n"); fault(); tryFor(att); attemptUnknown() }
  :: d_step { faults > 0 && att != 0 && late == 0 && !dead -> printf("an attempt is given up, and on its way\n"); fault(); late = att; attemptUnknown() }
#ifndef STICKY /* no such store executes a creation twice */
  :: d_step { faults > 0 && att != 0 && late == 0 && !dead -> printf("an attempt is repeated\n"); fault(); late = att }
#endif
  :: d_step { faults > 0 && ren != 0 && !dead -> printf("a renewal is lost\n"); fault(); ren = 0; renAnswer = failed }
  :: d_step { faults > 0 && rel != 0 && !dead -> printf("a release is lost\n"); fault(); rel = 0; relAnswer = failed }
  :: d_step { faults > 0 && rel != 0 && !dead -> printf("the answer to a release is lost\n"); fault(); remove(rel); rel = 0; relAnswer = failed }
  :: d_step { faults > 0 && grant != 0 && owner == grant -> printf("an administrator deletes the grant\n"); fault(); owner = 0; left_ = 0; revoked = grant }
  :: d_step { faults > 0 && !dead && acqs > 0 -> printf("the client dies\n"); fault(); dies() }
  /* time */
  :: d_step { mayTick ->
       printf("time passes\n");
       if :: valid > 0 -> valid-- :: else fi;
       if :: foreign > 0 -> foreign-- :: else fi;
       if :: attAges -> attAge++ :: else fi;
       if :: renAges -> renAge++ :: else fi;
       if :: storeCounts -> left_-- :: else fi }
  :: timeout -> break
  od;
  assert((pc[0] == over || THREADS < 1) && (pc[1] == over || THREADS < 2) && (pc[2] == over || THREADS < 3) || WAKE);
  assert(!(pending != none && !dead) && grant == 0 && ending == 0 && !held[0] && !held[1] && !held[2] || LEFT);
  assert(!runs || LEFT)
}
